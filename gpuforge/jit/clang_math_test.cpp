// The prelude's functions on the simulator, against the host's in a wider type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "gpuforge/base/environment.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::jit {
namespace {

class ClangMath : public testing::Test {
 protected:
  void SetUp() override {
    if (!ClangCompiler(read_environment().path, std::nullopt).program())
      GTEST_SKIP() << "no clang 16 or newer with NVPTX on PATH";
  }
  JitOptions options() const {
    JitOptions result;
    result.program_path = read_environment().path;
    result.compiler = CompilerChoice::clang;
    return result;
  }
  // out[i] = expression of x = a[i] and y = b[i].
  template <typename T>
  std::vector<T> run(const std::string& type, const std::string& expression, const std::vector<T>& a,
                     const std::vector<T>& b) {
    const KernelSource source{
        .name = "math.cu",
        .text = "extern \"C\" __global__ void k(" + type + "* out, const " + type + "* a, const " + type +
                "* b, int n) {\n"
                "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n  const " +
                type + " x = a[i], y = b[i];\n  out[i] = " + expression + ";\n}\n"};
    const auto kernel = jit_.kernel(source, "k", *device_);
    const auto stream = device_->make_stream();
    const std::size_t bytes = a.size() * sizeof(T);
    const device::Address out = device_->allocate(bytes, *stream);
    const device::Address in = device_->allocate(bytes, *stream);
    const device::Address other = device_->allocate(bytes, *stream);
    stream->copy_to_device(in, a.data(), bytes);
    stream->copy_to_device(other, b.data(), bytes);
    const auto blocks = static_cast<std::uint32_t>((a.size() + 127) / 128);
    (*kernel)({.grid = {blocks}, .block = {128}}, *stream, out, in, other, static_cast<int>(a.size()));
    std::vector<T> result(a.size());
    stream->copy_to_host(result.data(), out, bytes);
    stream->synchronize();
    for (const device::Address address : {out, in, other}) device_->free(address, *stream);
    return result;
  }

  std::shared_ptr<device::SimDevice> device_ = device::make_sim_device();
  Jit jit_{options(), nullptr};
};

// In units of the last place of the wanted value.
template <typename T>
double distance(T found, long double wanted) {
  const T nearest = static_cast<T>(wanted);
  if (std::isnan(nearest)) return std::isnan(found) ? 0 : 1e9;
  if (std::isinf(nearest) || std::isinf(found)) return found == nearest ? 0 : 1e9;
  const T size = std::max(std::fabs(nearest), std::numeric_limits<T>::min());
  const T unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::fabs(static_cast<long double>(found) - wanted) / unit);
}

struct Function {
  std::string expression;
  long double (*reference)(long double, long double);
  double low, high;
  double units;
};

// The range evenly, its powers of two, and the edges of the type.
template <typename T>
std::vector<T> samples(double low, double high) {
  std::vector<T> values = {T(0),
                           -T(0),
                           T(1),
                           T(-1),
                           T(0.5),
                           std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::denorm_min(),
                           std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::lowest(),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::quiet_NaN()};
  for (int i = 0; i <= 1500; ++i) values.push_back(static_cast<T>(low + (high - low) * i / 1500.0));
  double step = 1;
  for (int i = 0; i < 400; ++i, step *= 0.93) {
    values.push_back(static_cast<T>(high * step));
    if (low < 0) values.push_back(static_cast<T>(low * step));
  }
  return values;
}

#define REFERENCE(expression) \
  [](long double x, [[maybe_unused]] long double y) -> long double { return expression; }

TEST_F(ClangMath, FloatFunctionsAreWithinOneUnit) {
  const Function functions[] = {
      {"expf(x)", REFERENCE(std::exp(x)), -104, 89, 0.51},
      {"exp2f(x)", REFERENCE(std::exp2(x)), -150, 128, 0.51},
      {"exp10f(x)", REFERENCE(std::pow(10.0L, x)), -45, 38, 0.51},
      {"expm1f(x)", REFERENCE(std::expm1(x)), -20, 88, 0.51},
      {"logf(x)", REFERENCE(std::log(x)), 0, 100, 0.51},
      {"log2f(x)", REFERENCE(std::log2(x)), 0, 1e30, 0.51},
      {"log10f(x)", REFERENCE(std::log10(x)), 0, 1e10, 0.51},
      {"log1pf(x)", REFERENCE(std::log1p(x)), -1, 10, 0.51},
      {"sinf(x)", REFERENCE(std::sin(x)), -1e4, 1e4, 0.51},
      {"cosf(x)", REFERENCE(std::cos(x)), -3e38, 3e38, 0.51},
      {"tanf(x)", REFERENCE(std::tan(x)), -50, 50, 0.51},
      {"asinf(x)", REFERENCE(std::asin(x)), -1, 1, 0.51},
      {"acosf(x)", REFERENCE(std::acos(x)), -1, 1, 0.51},
      {"atanf(x)", REFERENCE(std::atan(x)), -30, 30, 0.51},
      {"sinhf(x)", REFERENCE(std::sinh(x)), -89, 89, 0.51},
      {"coshf(x)", REFERENCE(std::cosh(x)), -89, 89, 0.51},
      {"tanhf(x)", REFERENCE(std::tanh(x)), -10, 10, 0.51},
      {"erff(x)", REFERENCE(std::erf(x)), -4, 4, 0.51},
      {"erfcf(x)", REFERENCE(std::erfc(x)), -4, 10, 0.51},
      {"cbrtf(x)", REFERENCE(std::cbrt(x)), -100, 1e30, 0.51},
      {"sqrtf(x)", REFERENCE(std::sqrt(x)), 0, 1e30, 0.5},
      {"roundf(x)", REFERENCE(std::round(x)), -20, 20, 0},
      {"rintf(x)", REFERENCE(std::rint(x)), -20, 20, 0},
      {"floorf(x) + ceilf(x) + truncf(x)", REFERENCE(std::floor(x) + std::ceil(x) + std::trunc(x)), -20, 20,
       0.5},
      {"powf(x, y)", REFERENCE(std::pow(x, y)), -3, 50, 0.51},
      {"atan2f(x, y)", REFERENCE(std::atan2(x, y)), -9, 9, 0.51},
      {"hypotf(x, y)", REFERENCE(std::hypot(x, y)), -9, 1e30, 0.51},
      {"fminf(x, y)", REFERENCE(std::fmin(x, y)), -9, 9, 0},
      {"rsqrtf(x)", REFERENCE(1.0L / std::sqrt(x)), 0, 1e10, 2},
  };
  for (const Function& function : functions) {
    const std::vector<float> a = samples<float>(function.low, function.high);
    std::vector<float> b(a.size());
    for (std::size_t i = 0; i < b.size(); ++i)
      b[i] = i % 3 == 0 ? a[a.size() - 1 - i] : static_cast<float>(i % 17) - 8;
    const std::vector<float> found = run("float", function.expression, a, b);
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = distance(found[i], function.reference(a[i], b[i]));
      if (d > worst) worst = d, at = i;
    }
    EXPECT_LE(worst, function.units) << function.expression << " of " << a[at] << ", " << b[at] << " is "
                                     << found[at];
  }
}

TEST_F(ClangMath, DoubleFunctionsAreWithinAFewUnits) {
  const Function functions[] = {
      {"exp(x)", REFERENCE(std::exp(x)), -745, 710, 1},
      {"exp2(x)", REFERENCE(std::exp2(x)), -1075, 1024, 1},
      {"expm1(x)", REFERENCE(std::expm1(x)), -40, 700, 3},
      {"log(x)", REFERENCE(std::log(x)), 0, 10, 1},
      {"log2(x)", REFERENCE(std::log2(x)), 0, 10, 1},
      {"log10(x)", REFERENCE(std::log10(x)), 0, 10, 2},
      {"log1p(x)", REFERENCE(std::log1p(x)), -1, 10, 2},
      {"sin(x)", REFERENCE(std::sin(x)), -1e5, 1e5, 2},
      {"cos(x)", REFERENCE(std::cos(x)), -1e15, 1e15, 2},
      {"sin(x)", REFERENCE(std::sin(x)), -1e300, 1e300, 2},
      {"tan(x)", REFERENCE(std::tan(x)), -50, 50, 2},
      {"asin(x)", REFERENCE(std::asin(x)), -1, 1, 3},
      {"acos(x)", REFERENCE(std::acos(x)), -1, 1, 3},
      {"atan(x)", REFERENCE(std::atan(x)), -30, 30, 2},
      {"sinh(x)", REFERENCE(std::sinh(x)), -700, 700, 3},
      {"cosh(x)", REFERENCE(std::cosh(x)), -700, 700, 2},
      {"tanh(x)", REFERENCE(std::tanh(x)), -20, 20, 3},
      {"erf(x)", REFERENCE(std::erf(x)), -6, 6, 16},
      {"cbrt(x)", REFERENCE(std::cbrt(x)), -100, 1e30, 2},
      {"pow(x, y)", REFERENCE(std::pow(x, y)), -3, 50, 4},
      {"sqrt(x)", REFERENCE(std::sqrt(x)), 0, 1e30, 0.5},
      {"round(x)", REFERENCE(std::round(x)), -20, 20, 0},
      {"hypot(x, y)", REFERENCE(std::hypot(x, y)), -9, 1e30, 1},
  };
  for (const Function& function : functions) {
    const std::vector<double> a = samples<double>(function.low, function.high);
    std::vector<double> b(a.size());
    for (std::size_t i = 0; i < b.size(); ++i)
      b[i] =
          i % 3 == 0 ? a[a.size() - 1 - i] : static_cast<double>(i % 170) - 85.5 * static_cast<double>(i % 2);
    const std::vector<double> found = run("double", function.expression, a, b);
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = distance(found[i], function.reference(a[i], b[i]));
      if (d > worst) worst = d, at = i;
    }
    EXPECT_LE(worst, function.units) << function.expression << " of " << a[at] << ", " << b[at] << " is "
                                     << found[at];
  }
}

}  // namespace
}  // namespace gpuforge::jit
