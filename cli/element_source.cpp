#include "cli/element_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <thread>
#include <vector>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

// splitmix64: element i is a hash of (seed, i), so any piece can be made alone.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u + 0x94d049bb133111ebu;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double uniform(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

double normal(std::uint64_t seed, std::uint64_t index) {
  const double u = 1.0 - uniform(random_bits(seed, 2 * index));  // (0, 1]
  const double v = uniform(random_bits(seed, 2 * index + 1));
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

std::int64_t largest_integer(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return 127;
    case DType::u8:
      return 255;
    case DType::i16:
      return 32767;
    case DType::i32:
      return 2147483647;
    default:
      return 9223372036854775807;
  }
}

constexpr std::int64_t kChunk = 4096;  // elements made as doubles or integers, then converted at once

void fill_random(DType dtype, std::uint64_t seed, std::int64_t first, std::span<std::byte> out) {
  const std::size_t width = element_bytes(dtype);
  const auto count = static_cast<std::int64_t>(out.size() / width);
  std::array<double, kChunk> values;
  // A float of few bits may round up to 1, but the interval promised is half open.
  std::array<std::byte, 8> one{};
  store_double(one.data(), dtype, 1.0);
  for (std::int64_t at = 0; at < count; at += kChunk) {
    const std::int64_t part = std::min(kChunk, count - at);
    for (std::int64_t i = 0; i < part; ++i) {
      const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(first + at + i));
      const double whole = static_cast<double>(is_integer(dtype) ? bits % 100 : bits & 1);
      values[static_cast<std::size_t>(i)] = is_floating(dtype) ? uniform(bits) : whole;
    }
    std::byte* const to = out.data() + static_cast<std::size_t>(at) * width;
    convert_elements(to, dtype, values.data(), DType::f64, static_cast<std::size_t>(part));
    if (!is_floating(dtype) || dtype == DType::f64) continue;
    for (std::int64_t i = 0; i < part; ++i) {
      std::byte* const element = to + static_cast<std::size_t>(i) * width;
      if (std::memcmp(element, one.data(), width) == 0) store_double(element, dtype, 0.5);
    }
  }
}

void fill_normal(DType dtype, std::uint64_t seed, std::int64_t first, std::span<std::byte> out) {
  const std::size_t width = element_bytes(dtype);
  const auto count = static_cast<std::int64_t>(out.size() / width);
  std::array<double, kChunk> values;
  for (std::int64_t at = 0; at < count; at += kChunk) {
    const std::int64_t part = std::min(kChunk, count - at);
    for (std::int64_t i = 0; i < part; ++i) {
      values[static_cast<std::size_t>(i)] = normal(seed, static_cast<std::uint64_t>(first + at + i));
    }
    convert_elements(out.data() + static_cast<std::size_t>(at) * width, dtype, values.data(), DType::f64,
                     static_cast<std::size_t>(part));
  }
}

void fill_arange(DType dtype, std::int64_t first, std::span<std::byte> out) {
  const std::size_t width = element_bytes(dtype);
  const auto count = static_cast<std::int64_t>(out.size() / width);
  std::array<std::int64_t, kChunk> values;
  for (std::int64_t at = 0; at < count; at += kChunk) {
    const std::int64_t part = std::min(kChunk, count - at);
    for (std::int64_t i = 0; i < part; ++i) values[static_cast<std::size_t>(i)] = first + at + i;
    convert_elements(out.data() + static_cast<std::size_t>(at) * width, dtype, values.data(), DType::i64,
                     static_cast<std::size_t>(part));
  }
}

// One period by hand, then what stands there already, doubled each time.
void fill_repeated(std::span<const std::byte> period, std::size_t start, std::span<std::byte> out) {
  std::size_t done = std::min(period.size(), out.size());
  for (std::size_t i = 0; i < done; ++i) out[i] = period[(start + i) % period.size()];
  while (done < out.size()) {
    const std::size_t more = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), more);
    done += more;
  }
}

// One thread's share.
void fill_part(const LaunchArgument& argument, std::uint64_t seed, std::int64_t first,
               std::span<std::byte> out) {
  const Initial& initial = argument.initial;
  const DType dtype = *argument.dtype;
  const auto start = static_cast<std::size_t>(first) * element_bytes(dtype);
  switch (initial.kind) {
    case Initial::Kind::zeros:
      std::fill(out.begin(), out.end(), std::byte{0});
      return;
    case Initial::Kind::repeat:
      fill_repeated(initial.bytes, start, out);
      return;
    case Initial::Kind::elements:
      std::copy_n(initial.bytes.begin() + static_cast<std::ptrdiff_t>(start), out.size(), out.begin());
      return;
    case Initial::Kind::random:
      fill_random(dtype, seed, first, out);
      return;
    case Initial::Kind::normal:
      fill_normal(dtype, seed, first, out);
      return;
    case Initial::Kind::arange:
      fill_arange(dtype, first, out);
      return;
    case Initial::Kind::none:
    case Initial::Kind::file:
      return;  // fill_elements refuses them
  }
}

constexpr std::size_t kBytesPerThread = std::size_t{1} << 20;

}  // namespace

void fill_elements(const LaunchArgument& argument, std::uint64_t seed, std::int64_t first,
                   std::span<std::byte> out) {
  const DType dtype = *argument.dtype;
  const std::size_t width = element_bytes(dtype);
  const std::size_t count = out.size() / width;
  GPUFORGE_ASSERT(
      argument.initial.kind != Initial::Kind::none && argument.initial.kind != Initial::Kind::file,
      "run: '{}' has no initial value to fill with", argument.text);
  GPUFORGE_CHECK(argument.initial.kind != Initial::Kind::arange || !is_integer(dtype) ||
                     first + static_cast<std::int64_t>(count) - 1 <= largest_integer(dtype),
                 "run: --arg '{}': arange reaches {}, which {} cannot hold", argument.text,
                 element_count(*argument.shape) - 1, argument.type);
  const std::size_t threads = std::clamp<std::size_t>(out.size() / kBytesPerThread, 1,
                                                      std::max(1u, std::thread::hardware_concurrency()));
  const std::size_t share = (count + threads - 1) / threads;
  std::vector<std::jthread> others;
  for (std::size_t at = share; at < count; at += share) {
    const auto part = out.subspan(at * width, std::min(share, count - at) * width);
    others.emplace_back([&argument, seed, from = first + static_cast<std::int64_t>(at), part] {
      fill_part(argument, seed, from, part);
    });
  }
  fill_part(argument, seed, first, out.first(std::min(share, count) * width));
}

Poison poison(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::f32:
      return {0xffffa5a5u, 4};
    case DType::f16:
    case DType::bf16:
      return {0xffa5u, 2};
    case DType::f8e4m3:
    case DType::f8e5m2:
      return {0xffu, 1};
    case DType::i64:
    case DType::i32:
      return {0xa5a5a5a5u, 4};
    case DType::i16:
      return {0xa5a5u, 2};
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return {0xa5u, 1};
  }
  return {0xa5u, 1};
}

template <typename Word>
void OutputScan::scan(std::span<const std::byte> elements) {
  const Poison mark = poison(dtype_);
  Word expected = 0;
  for (std::size_t at = 0; at < sizeof(Word); at += mark.pattern_bytes) {
    std::memcpy(reinterpret_cast<std::byte*>(&expected) + at, &mark.pattern, mark.pattern_bytes);
  }
  const std::int64_t enough =
      dtype_ == DType::boolean || sizeof(Word) >= 4 ? 1 : static_cast<std::int64_t>(4 / sizeof(Word));
  for (std::size_t at = 0; at + sizeof(Word) <= elements.size(); at += sizeof(Word), ++elements_) {
    Word word;
    std::memcpy(&word, elements.data() + at, sizeof word);
    nonzero_ = nonzero_ || word != 0;
    if (word != expected) {
      run_ = 0;
      continue;
    }
    ++poisoned_;
    ++run_;
    if (run_ < enough) continue;
    const std::int64_t added = run_ == enough ? enough : 1;
    if (counted_ == 0) first_ = elements_ + 1 - added;
    counted_ += added;
  }
}

void OutputScan::add(std::span<const std::byte> elements) {
  switch (element_bytes(dtype_)) {
    case 1:
      return scan<std::uint8_t>(elements);
    case 2:
      return scan<std::uint16_t>(elements);
    case 4:
      return scan<std::uint32_t>(elements);
    default:
      return scan<std::uint64_t>(elements);
  }
}

std::int64_t OutputScan::unwritten() const {
  if (counted_ == 0 && elements_ > 0 && poisoned_ == elements_) return elements_;
  return counted_;
}

}  // namespace gpuforge::cli
