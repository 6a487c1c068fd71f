// kernels/half.cuh on a GPU and in the simulator against base/half.h, bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/jit/jit.h"
#include "gpuforge/kernels/device_type.h"

namespace gpuforge::jit {
namespace {

constexpr const char* kSource =
    "#include \"gpuforge/kernels/half.cuh\"\n"
    "using namespace gpuforge;\n"
    "template <class To, class From> __global__ void convert(To* to, const From* from, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) to[i] = To(from[i]);\n"
    "}\n"
    "// Every float, through the instruction and through the integer code of older chips.\n"
    "extern \"C\" __global__ void software_differs(unsigned* differs) {\n"
    "  const unsigned step = gridDim.x * blockDim.x;\n"
    "  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  for (unsigned long long bits = first; bits < (1ull << 32); bits += step) {\n"
    "    const float x = narrow::float_of(static_cast<unsigned>(bits));\n"
    "    if (narrow::f8e4m3_bits(x) != narrow::fp8_bits_in_software<3, 7, 0x7eu>(x, 448.0f)) "
    "atomicAdd(differs, 1u);\n"
    "    if (narrow::f8e5m2_bits(x) != narrow::fp8_bits_in_software<2, 15, 0x7bu>(x, 57344.0f)) "
    "atomicAdd(differs + 1, 1u);\n"
    "  }\n"
    "}\n";

// gpuforge::bool_t is an array's; here it is bool.
std::string type_name(DType dtype) {
  return dtype == DType::boolean ? "bool" : std::string(device_type(dtype));
}

constexpr DType kNarrow[] = {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};

class Half : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const cuda::SearchOptions search = cuda::search_options(read_environment());
    try {
      device_ = device::open_device(GetParam(), search);
    } catch (const Error& error) {
      GTEST_SKIP() << "no " << GetParam() << ": " << error.message();
    }
    stream_ = device_->make_stream();
    jit_ = std::make_unique<Jit>(
        JitOptions{.search = search, .cache_dir = {}, .cache_limit_bytes = 0, .kernel_dir = {}}, nullptr);
  }

  std::vector<unsigned char> convert_on_device(const std::string& to, std::size_t to_bytes,
                                               const std::string& from,
                                               const std::vector<unsigned char>& input, int count) {
    const std::string expression = "convert<" + to + ", " + from + ">";
    KernelSource source;
    source.name = "convert.cu";
    source.text = kSource;
    source.instantiations = {expression};
    const auto kernel = jit_->kernel(source, expression, *device_);
    std::vector<unsigned char> output(to_bytes * static_cast<std::size_t>(count), 0xaa);
    const device::Address in = device_->allocate(input.size(), *stream_);
    const device::Address out = device_->allocate(output.size(), *stream_);
    stream_->copy_to_device(in, input.data(), input.size());
    device::LaunchConfig config;
    config.block.x = 256;
    config.grid.x = static_cast<std::uint32_t>((count + 255) / 256);
    (*kernel)(config, *stream_, out, in, count);
    stream_->copy_to_host(output.data(), out, output.size());
    stream_->synchronize();
    device_->free(in, *stream_);
    device_->free(out, *stream_);
    return output;
  }

  void expect_like_base(DType to, DType from, const std::vector<unsigned char>& input) {
    SCOPED_TRACE(std::string(name(from)) + " to " + std::string(name(to)));
    const std::size_t count = input.size() / element_bytes(from);
    const auto got =
        convert_on_device(type_name(to), element_bytes(to), type_name(from), input, static_cast<int>(count));
    std::vector<unsigned char> wanted(count * element_bytes(to));
    convert_elements(wanted.data(), to, input.data(), from, count);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const void* const g = got.data() + i * element_bytes(to);
      const void* const w = wanted.data() + i * element_bytes(to);
      const bool wide_nan = is_floating(to) && std::isnan(load_double(g, to)) &&
                            std::isnan(load_double(w, to)) && element_bytes(to) >= 4;
      if (wide_nan || std::memcmp(g, w, element_bytes(to)) == 0) continue;
      if (++wrong <= 3) {
        ADD_FAILURE() << "input " << load_double(input.data() + i * element_bytes(from), from) << " gave "
                      << load_double(g, to) << ", wanted " << load_double(w, to);
      }
    }
    EXPECT_EQ(wrong, 0u);
  }

  std::shared_ptr<device::Device> device_;
  std::shared_ptr<device::Stream> stream_;
  std::unique_ptr<Jit> jit_;
};

// Four billion floats: for a GPU alone.
class HalfGpu : public Half {};

// The second has no instructions for eight bits.
INSTANTIATE_TEST_SUITE_P(Sim, Half, testing::Values("sim", "sim:sm_80"), [](const auto& tested) {
  return std::string(tested.param) == "sim" ? "sim" : "sim_sm_80";
});
INSTANTIATE_TEST_SUITE_P(Gpu, Half, testing::Values("cuda:0"), [](const auto&) { return "cuda"; });
INSTANTIATE_TEST_SUITE_P(Gpu, HalfGpu, testing::Values("cuda:0"), [](const auto&) { return "cuda"; });

template <typename T>
void append(std::vector<unsigned char>& bytes, T value) {
  const auto raw = std::bit_cast<std::array<unsigned char, sizeof(T)>>(value);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

// Both sides of every rounding boundary of every narrow type, and any bits at all.
template <typename T>
std::vector<unsigned char> hard_floats(std::uint64_t seed) {
  std::vector<unsigned char> bytes;
  const auto add = [&](double value) {
    append(bytes, static_cast<T>(value));
    append(bytes, std::nextafter(static_cast<T>(value), std::numeric_limits<T>::infinity()));
    append(bytes, std::nextafter(static_cast<T>(value), -std::numeric_limits<T>::infinity()));
  };
  for (const DType dtype : kNarrow) {
    double previous = 0;
    for (unsigned code = 0; code < (element_bytes(dtype) == 1 ? 128u : 0x7fffu); ++code) {
      const auto bits = static_cast<std::uint16_t>(code);
      const double value = load_double(&bits, dtype);
      if (!std::isfinite(value)) break;
      add(value);
      add((value + previous) / 2);
      add(-(value + previous) / 2);
      previous = value;
    }
    add(previous * 1.0625);
    add(previous * 2);
  }
  for (const double value : {0.0, -0.0, 1e300, -1e300, 1e-300, 5e-324, 1e-45}) add(value);
  append(bytes, std::numeric_limits<T>::infinity());
  append(bytes, -std::numeric_limits<T>::infinity());
  append(bytes, std::numeric_limits<T>::quiet_NaN());
  append(bytes, -std::numeric_limits<T>::quiet_NaN());
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300000; ++i) {
    if constexpr (sizeof(T) == 8) append(bytes, std::bit_cast<T>(random()));
    if constexpr (sizeof(T) == 4) append(bytes, std::bit_cast<T>(static_cast<std::uint32_t>(random())));
  }
  return bytes;
}

template <typename T>
std::vector<T> hard_integers(std::uint64_t seed) {
  std::vector<T> values = {0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  std::mt19937_64 random(seed);
  for (int i = 0; i < 100000; ++i)
    values.push_back(static_cast<T>(static_cast<T>(random()) >> (random() % (8 * sizeof(T)))));
  // Ties and their neighbours at every width.
  for (unsigned high = 0; high + 2 < 8 * sizeof(T); ++high) {
    for (std::uint64_t head = 1; head < 4096; head += 2) {
      const auto tie = static_cast<T>(head << high);
      for (const T value : {tie, static_cast<T>(tie + 1), static_cast<T>(tie - 1)}) values.push_back(value);
    }
  }
  return values;
}

template <typename T>
std::vector<unsigned char> bytes_of(const std::vector<T>& values) {
  std::vector<unsigned char> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST_P(Half, NarrowingFromFloats) {
  for (const DType to : kNarrow) {
    expect_like_base(to, DType::f32, hard_floats<float>(1));
    expect_like_base(to, DType::f64, hard_floats<double>(2));
  }
}

TEST_P(Half, NarrowingFromIntegers) {
  for (const DType to : kNarrow) {
    expect_like_base(to, DType::i64, bytes_of(hard_integers<std::int64_t>(3)));
    expect_like_base(to, DType::i32, bytes_of(hard_integers<std::int32_t>(4)));
    expect_like_base(to, DType::i16, bytes_of(hard_integers<std::int16_t>(5)));
    expect_like_base(to, DType::i8, bytes_of(hard_integers<std::int8_t>(6)));
    expect_like_base(to, DType::u8, bytes_of(hard_integers<std::uint8_t>(7)));
  }
}

// Unsigned integers are no dtype: the host goes through a double rounded to odd, which no tie survives
// wrongly.
TEST_P(Half, NarrowingFromUnsignedIntegers) {
  const auto values = hard_integers<std::uint64_t>(8);
  std::vector<double> odd;
  for (const std::uint64_t value : values) {
    const std::uint64_t dropped = value >= (std::uint64_t{1} << 53) ? 0x7ff : 0;
    const std::uint64_t kept = value & ~dropped;
    odd.push_back(static_cast<double>(kept | ((value & dropped) != 0 ? dropped + 1 : 0)));
  }
  const auto narrow = hard_integers<std::uint32_t>(9);
  for (const DType to : kNarrow) {
    const auto count = static_cast<int>(values.size());
    const auto got =
        convert_on_device(type_name(to), element_bytes(to), "unsigned long long", bytes_of(values), count);
    std::vector<unsigned char> wanted(values.size() * element_bytes(to));
    convert_elements(wanted.data(), to, odd.data(), DType::f64, values.size());
    EXPECT_EQ(got, wanted) << name(to);

    const std::vector<double> exact(narrow.begin(), narrow.end());
    const auto got32 = convert_on_device(type_name(to), element_bytes(to), "unsigned", bytes_of(narrow),
                                         static_cast<int>(narrow.size()));
    std::vector<unsigned char> wanted32(narrow.size() * element_bytes(to));
    convert_elements(wanted32.data(), to, exact.data(), DType::f64, narrow.size());
    EXPECT_EQ(got32, wanted32) << name(to);
  }
}

TEST_P(Half, EveryNarrowValueToEveryFloat) {
  for (const DType from : kNarrow) {
    std::vector<unsigned char> bytes;
    for (unsigned code = 0; code < (element_bytes(from) == 1 ? 256u : 65536u); ++code) {
      if (element_bytes(from) == 1) append(bytes, static_cast<std::uint8_t>(code));
      if (element_bytes(from) == 2) append(bytes, static_cast<std::uint16_t>(code));
    }
    expect_like_base(DType::f32, from, bytes);
    expect_like_base(DType::f64, from, bytes);
    for (const DType to : kNarrow) {
      if (to != from) expect_like_base(to, from, bytes);
    }
  }
}

TEST_P(HalfGpu, SoftwareFp8EqualsTheInstruction) {
  KernelSource source;
  source.name = "convert.cu";
  source.text = kSource;
  const auto kernel = jit_->kernel(source, "software_differs", *device_);
  const device::Address differs = device_->allocate(8, *stream_);
  stream_->fill(differs, 0, 4, 2);
  device::LaunchConfig config;
  config.block.x = 256;
  config.grid.x = 2048;
  (*kernel)(config, *stream_, differs);
  std::array<std::uint32_t, 2> counts{1, 1};
  stream_->copy_to_host(counts.data(), differs, 8);
  stream_->synchronize();
  device_->free(differs, *stream_);
  EXPECT_EQ(counts[0], 0u) << "e4m3";
  EXPECT_EQ(counts[1], 0u) << "e5m2";
}

}  // namespace
}  // namespace gpuforge::jit
