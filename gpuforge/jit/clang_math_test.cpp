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

struct Function {
  std::string expression;
  long double (*reference)(long double, long double);
  double low, high;
  double units;
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

  template <typename T>
  void expect_within(const Function& function, const std::string& type, const std::vector<T>& a,
                     const std::vector<T>& b) {
    const std::vector<T> found = run(type, function.expression, a, b);
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = distance(found[i], function.reference(a[i], b[i]));
      if (d > worst) worst = d, at = i;
    }
    EXPECT_LE(worst, function.units) << function.expression << " of " << a[at] << ", " << b[at] << " is "
                                     << found[at];
  }

  std::shared_ptr<device::SimDevice> device_ = device::make_sim_device();
  Jit jit_{options(), nullptr};
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

constexpr long double kPi = 3.14159265358979323846264338327950288L;
constexpr long double kRootOfHalf = 0.707106781186547524400844362104849039L;

// sin(pi x), reduced before it is multiplied.
long double half_turn_sine(long double x) {
  const long double part = std::remainder(x, 2.0L);
  const long double near = part > 0.5L ? 1.0L - part : (part < -0.5L ? -1.0L - part : part);
  return std::sin(kPi * near);
}
long double half_turn_cosine(long double x) {
  return half_turn_sine(std::remainder(x, 2.0L) + 0.5L);
}
long double scaled_complement(long double x) {
  if (x < 26) return std::exp(x * x) * std::erfc(x);
  const long double z = 1.0L / (2.0L * x * x);  // 1 - z + 3 z^2 - 15 z^3 ...
  long double term = 1.0L, sum = 1.0L;
  for (int k = 1; k < 12; ++k) sum += term *= -z * (2 * k - 1);
  return sum / (x * std::sqrt(kPi));
}
// By bisection, so that they are obviously right.
long double inverse_error(long double x);
long double inverse_complement(long double x) {
  if (!(x > 0 && x < 2)) {
    if (x == 0 || x == 2) return x == 0 ? HUGE_VALL : -HUGE_VALL;
    return NAN;
  }
  if (std::fabs(x - 1.0L) <= 0.25L) return inverse_error(1.0L - x);
  long double low = -7, high = 40;
  for (int i = 0; i < 80; ++i) {
    const long double middle = 0.5L * (low + high);
    (std::erfc(middle) > x ? low : high) = middle;
  }
  return low;
}
long double inverse_error(long double x) {
  if (!(std::fabs(x) <= 1)) return NAN;
  if (x < 0) return -inverse_error(-x);
  if (x > 0.25L) return inverse_complement(1.0L - x);
  if (x < 1e-10L) return x * std::sqrt(kPi) / 2.0L;
  long double low = 0, high = 0.3L;
  for (int i = 0; i < 110; ++i) {
    const long double middle = 0.5L * (low + high);
    (std::erf(middle) < x ? low : high) = middle;
  }
  return low;
}
// The host's gives an infinity for whole negative numbers where C wants NaN.
long double gamma(long double x) {
  return x < 0 && std::trunc(x) == x ? NAN : std::tgamma(x);
}

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
      {"asinhf(x)", REFERENCE(std::asinh(x)), -1e9, 1e9, 0.51},
      {"acoshf(x)", REFERENCE(std::acosh(x)), 1, 1e9, 0.51},
      {"atanhf(x)", REFERENCE(std::atanh(x)), -1, 1, 0.51},
      {"sinpif(x)", REFERENCE(half_turn_sine(x)), -1000, 1000, 0.51},
      {"cospif(x)", REFERENCE(half_turn_cosine(x)), -1000, 1000, 0.51},
      {"rcbrtf(x)", REFERENCE(1.0L / std::cbrt(x)), -100, 1e30, 0.51},
      {"erfcxf(x)", REFERENCE(scaled_complement(x)), -9, 50, 0.51},
      {"erfinvf(x)", REFERENCE(inverse_error(x)), -1, 1, 0.51},
      {"erfcinvf(x)", REFERENCE(inverse_complement(x)), 1e-30, 2, 0.51},
      {"normcdff(x)", REFERENCE(0.5L * std::erfc(-x * kRootOfHalf)), -14, 9, 0.51},
      {"normcdfinvf(x)", REFERENCE(-inverse_complement(2.0L * x) / kRootOfHalf), 0, 1, 0.51},
      {"tgammaf(x)", REFERENCE(gamma(x)), -40, 36, 0.51},
      {"lgammaf(x)", REFERENCE(std::lgamma(x)), 0, 1e30, 0.51},
      {"norm3df(x, y, 3.0f)", REFERENCE(std::hypot(std::hypot(x, y), 3.0L)), -9, 1e30, 0.51},
      {"rnorm4df(x, y, 3.0f, x)", REFERENCE(1.0L / std::hypot(std::hypot(std::hypot(x, y), 3.0L), x)), -9,
       1e18, 0.51},
      {"rhypotf(x, y)", REFERENCE(1.0L / std::hypot(x, y)), -9, 1e30, 0.51},
  };
  for (const Function& function : functions) {
    const std::vector<float> a = samples<float>(function.low, function.high);
    std::vector<float> b(a.size());
    for (std::size_t i = 0; i < b.size(); ++i)
      b[i] = i % 3 == 0 ? a[a.size() - 1 - i] : static_cast<float>(i % 17) - 8;
    expect_within(function, "float", a, b);
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
      {"erf(x)", REFERENCE(std::erf(x)), -6, 6, 2},
      {"cbrt(x)", REFERENCE(std::cbrt(x)), -100, 1e30, 2},
      {"pow(x, y)", REFERENCE(std::pow(x, y)), -3, 50, 4},
      {"sqrt(x)", REFERENCE(std::sqrt(x)), 0, 1e30, 0.5},
      {"round(x)", REFERENCE(std::round(x)), -20, 20, 0},
      {"hypot(x, y)", REFERENCE(std::hypot(x, y)), -9, 1e30, 1},
      {"exp10(x)", REFERENCE(std::pow(10.0L, x)), -320, 308, 2},
      {"asinh(x)", REFERENCE(std::asinh(x)), -1e9, 1e9, 4},
      {"acosh(x)", REFERENCE(std::acosh(x)), 1, 1e9, 4},
      {"atanh(x)", REFERENCE(std::atanh(x)), -1, 1, 4},
      {"sinpi(x)", REFERENCE(half_turn_sine(x)), -1000, 1000, 2},
      {"cospi(x)", REFERENCE(half_turn_cosine(x)), -1000, 1000, 2},
      {"rcbrt(x)", REFERENCE(1.0L / std::cbrt(x)), -100, 1e30, 2},
      {"erfc(x)", REFERENCE(std::erfc(x)), -6, 27, 5},
      {"erfcx(x)", REFERENCE(scaled_complement(x)), -26, 50, 4},
      {"erfinv(x)", REFERENCE(inverse_error(x)), -1, 1, 5},
      {"erfcinv(x)", REFERENCE(inverse_complement(x)), 1e-300, 2, 6},
      {"normcdf(x)", REFERENCE(0.5L * std::erfc(-x * kRootOfHalf)), -37, 9, 5},
      {"normcdfinv(x)", REFERENCE(-inverse_complement(2.0L * x) / kRootOfHalf), 0, 1, 8},
      {"tgamma(x)", REFERENCE(gamma(x)), -170, 171.5, 10},
      {"lgamma(x)", REFERENCE(std::lgamma(x)), 0, 5, 4},
      {"lgamma(x)", REFERENCE(std::lgamma(x)), 5, 1e300, 4},
      {"norm3d(x, y, 3.0)", REFERENCE(std::hypot(std::hypot(x, y), 3.0L)), -9, 1e30, 1},
      {"rnorm4d(x, y, 3.0, x)", REFERENCE(1.0L / std::hypot(std::hypot(std::hypot(x, y), 3.0L), x)), -9, 1e30,
       2},
      {"rhypot(x, y)", REFERENCE(1.0L / std::hypot(x, y)), -9, 1e30, 2},
  };
  for (const Function& function : functions) {
    const std::vector<double> a = samples<double>(function.low, function.high);
    std::vector<double> b(a.size());
    for (std::size_t i = 0; i < b.size(); ++i)
      b[i] =
          i % 3 == 0 ? a[a.size() - 1 - i] : static_cast<double>(i % 170) - 85.5 * static_cast<double>(i % 2);
    expect_within(function, "double", a, b);
  }
}

// Nothing is rounded here, so nothing differs.
TEST_F(ClangMath, ExactFunctionsAreExact) {
  const auto quotient = [](long double x, long double y, auto type) {
    int bits = 0;
    std::remquo(static_cast<decltype(type)>(x), static_cast<decltype(type)>(y), &bits);
    return static_cast<long double>(bits % 8);
  };
  struct Exact {
    std::string expression;
    std::function<long double(long double, long double)> reference;
  };
  for (const bool wide : {false, true}) {
    const std::string f = wide ? "" : "f";
    const auto by = [&](auto of_double, auto of_float) {
      return [=](long double x, long double y) -> long double {
        return wide ? of_double(static_cast<double>(x), static_cast<double>(y))
                    : of_float(static_cast<float>(x), static_cast<float>(y));
      };
    };
#define BOTH(expression)                                         \
  by([](auto x, [[maybe_unused]] auto y) { return expression; }, \
     [](auto x, [[maybe_unused]] auto y) { return expression; })
    const Exact functions[] = {
        {"fmod" + f + "(x, y)", BOTH(std::fmod(x, y))},
        {"remainder" + f + "(x, y)", BOTH(std::remainder(x, y))},
        {"[&] { int n; return remquo" + f + "(x, y, &n); }()", BOTH(std::remainder(x, y))},
        {"[&] { int n; remquo" + f + "(x, y, &n); return n % 8; }()",
         [&](long double x, long double y) {
           if (!std::isfinite(x) || std::isnan(y) || y == 0 || std::isinf(y)) return 0.0L;
           return wide ? quotient(x, y, 0.0) : quotient(x, y, 0.0f);
         }},
        {"[&] { int n; return frexp" + f + "(x, &n); }()", BOTH([&] {
           int n;
           return std::frexp(x, &n);
         }())},
        {"[&] { int n; frexp" + f + "(x, &n); return n; }()", BOTH([&] {
           int n = 0;
           std::frexp(x, &n);
           return std::isfinite(x) ? n : 0;
         }())},
        {"modf" + f + "(x, &out[i])", BOTH(std::modf(x, &x))},
        {"[&] { " + std::string(wide ? "double" : "float") + " n; modf" + f + "(x, &n); return n; }()",
         BOTH(std::trunc(x))},
        {"logb" + f + "(x)", BOTH(std::logb(x))},
        {"ilogb" + f + "(x)", BOTH(std::ilogb(x))},
        {"nextafter" + f + "(x, y)", BOTH(std::nextafter(x, y))},
        {"ldexp" + f + "(x, 37 * (int)fmin(fmax((double)y, -60.0), 60.0))",
         BOTH(std::ldexp(x,
                         37 * static_cast<int>(std::fmin(std::fmax(static_cast<double>(y), -60.0), 60.0))))},
        {"scalbn" + f + "(x, -70)", BOTH(std::scalbn(x, -70))},
        {"scalbln" + f + "(x, 1L << 40)", BOTH(std::scalbln(x, 1L << 40))},
        {"fdim" + f + "(x, y)", BOTH(std::fdim(x, y))},
        {"copysign" + f + "(x, y)", BOTH(std::copysign(x, y))},
        {"nearbyint" + f + "(x)", BOTH(std::nearbyint(x))},
    };
#undef BOTH
    const auto compare = [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> a = samples<T>(-1000, 1e6), b(a.size());
      for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = i % 3 == 0 ? a[a.size() - 1 - i] : static_cast<T>(i % 17) - T(8.5) * static_cast<T>(i % 2);
      for (const Exact& one : functions) {
        const std::vector<T> found = run(wide ? "double" : "float", one.expression, a, b);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
          const T wanted = static_cast<T>(one.reference(a[i], b[i]));
          if (std::isnan(wanted) ? std::isnan(found[i]) : found[i] == wanted) continue;
          if (++wrong < 4)
            ADD_FAILURE() << one.expression << " of " << a[i] << ", " << b[i] << " is " << found[i]
                          << ", not " << wanted;
        }
      }
    };
    wide ? compare(0.0) : compare(0.0f);
  }
}

}  // namespace
}  // namespace gpuforge::jit
