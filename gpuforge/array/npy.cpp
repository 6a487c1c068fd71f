#include "gpuforge/array/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gpuforge/array/npy_header.h"
#include "gpuforge/array/strided.h"
#include "gpuforge/base/file.h"

namespace gpuforge {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kGrowthDigits = 21;  // NumPy leaves room for the first dimension to grow in place

std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "<f8";
    case DType::f32:
      return "<f4";
    case DType::f16:
      return "<f2";
    case DType::bf16:
      return "<V2";
    case DType::f8e4m3:
      return "<V1";
    case DType::f8e5m2:
      return "<V1";
    case DType::i64:
      return "<i8";
    case DType::i32:
      return "<i4";
    case DType::i16:
      return "<i2";
    case DType::i8:
      return "|i1";
    case DType::u8:
      return "|u1";
    case DType::boolean:
      return "|b1";
  }
  throw Error(ErrorCode::internal, "npy: not a value of the dtype enumeration");
}

struct ElementType {
  DType dtype;
  bool swapped;
};

std::string_view reason_refused(std::string_view kind) {
  if (kind == "u2" || kind == "u4" || kind == "u8")
    return "unsigned integers above 8 bits are not among our types";
  if (kind.starts_with('c')) return "complex numbers are not among our types";
  if (kind.starts_with('O')) return "Python objects are never loaded";
  if (kind == "f16" || kind == "f12") return "long doubles are not among our types";
  if (kind.starts_with('S') || kind.starts_with('U') || kind.starts_with('a'))
    return "texts are not among our types";
  if (kind.starts_with('m') || kind.starts_with('M')) return "times are not among our types";
  return "it is none of f8 f4 f2 i8 i4 i2 i1 u1 b1 V2 V1";
}

ElementType element_type(const NpyHeader& header, std::string_view what, std::optional<DType> raw) {
  const std::string descr = header.descr.size() > 60 ? header.descr.substr(0, 60) + "..." : header.descr;
  const auto refuse = [&](std::string_view why) {
    std::string printable = descr;
    for (char& c : printable) c = c >= 0x20 && c < 0x7f ? c : '?';
    return Error(ErrorCode::parse, format_text("npy: {} has elements of type {}: {}", what, printable, why));
  };
  if (header.structured) throw refuse("structured types are not among ours");
  const bool marked = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const std::string_view kind = std::string_view(descr).substr(marked ? 1 : 0);
  if (kind == "V1" || kind == "V2") {
    const DType dtype = raw.value_or(DType::bf16);
    if (kind == "V1" && !raw) throw refuse("one raw byte may be f8e4m3 or f8e5m2; say which dtype it is");
    if (element_bytes(dtype) != (kind == "V1" ? 1u : 2u)) {
      throw refuse(
          format_text("raw bytes that cannot be {}, which has {} bytes", name(dtype), element_bytes(dtype)));
    }
    return {dtype, false};
  }
  if (kind == "f1") return {DType::f8e5m2, false};
  for (const DType dtype : kAllDTypes) {
    if (descr_of(dtype).substr(1) != kind) continue;
    const bool big = descr[0] == '>';
    const bool native_is_little = std::endian::native == std::endian::little;
    const bool file_is_little = (marked && descr[0] == '<') || (!big && native_is_little);
    return {dtype, element_bytes(dtype) > 1 && file_is_little != native_is_little};
  }
  throw refuse(reason_refused(kind));
}

void swap_bytes(std::vector<std::byte>& elements, std::size_t width) {
  for (std::size_t at = 0; at < elements.size(); at += width) {
    std::reverse(elements.data() + at, elements.data() + at + width);
  }
}

std::vector<std::byte> to_row_major(const std::vector<std::byte>& elements, const Shape& shape, DType dtype) {
  Shape reversed;
  for (std::size_t i = shape.size(); i > 0; --i) reversed.push_back(shape[i - 1]);
  const Strides backwards = row_major_strides(reversed);
  Strides strides;
  for (std::size_t i = shape.size(); i > 0; --i) strides.push_back(backwards[i - 1]);
  std::vector<std::byte> result(elements.size());
  copy_on_host(result.data(), dtype, elements.data(), dtype,
               make_walk(shape, row_major_strides(shape), strides));
  return result;
}

std::string shape_text(const Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

HostArray parse_npy(std::span<const std::byte> bytes, std::string_view what, std::optional<DType> raw) {
  const NpyHeader header = parse_npy_header(bytes, what);
  const ElementType type = element_type(header, what, raw);
  const std::size_t width = element_bytes(type.dtype);
  const auto found = static_cast<std::int64_t>(bytes.size() - header.data_at);
  // A shape with a zero has no elements, however large the rest of it is.
  std::int64_t expected = static_cast<std::int64_t>(width);
  bool overflow = false;
  for (const std::int64_t extent : header.shape) {
    overflow = __builtin_mul_overflow(expected, extent, &expected) || overflow;
  }
  if (std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end()) {
    expected = 0;
    overflow = false;
  }
  if (overflow) {
    throw Error(ErrorCode::parse, format_text("npy: {} claims the shape {}, more than any file can hold",
                                              what, shape_text(header.shape)));
  }
  if (found != expected) {
    throw Error(ErrorCode::parse,
                format_text("npy: the data of {} should have {} bytes for {} {}: expected {} bytes, found {}",
                            what, expected, shape_text(header.shape), name(type.dtype), expected, found));
  }
  HostArray result{type.dtype, header.shape, {}};
  const std::span<const std::byte> data = bytes.subspan(header.data_at);
  result.elements.assign(data.begin(), data.end());
  if (type.swapped) swap_bytes(result.elements, width);
  if (header.fortran_order && header.shape.size() > 1 && expected > 0) {
    result.elements = to_row_major(result.elements, header.shape, type.dtype);
  }
  if (type.dtype == DType::boolean) {
    for (std::byte& element : result.elements)
      element = element == std::byte{0} ? std::byte{0} : std::byte{1};
  }
  return result;
}

HostArray read_npy(const std::filesystem::path& path, std::optional<DType> raw) {
  const MappedFile file(path);
  return parse_npy(file.bytes(), path.string(), raw);
}

std::string npy_bytes(const HostArray& array) {
  const std::size_t width = element_bytes(array.dtype);
  const auto count = static_cast<std::uint64_t>(element_count(array.shape));
  GPUFORGE_CHECK(array.elements.size() % width == 0 && array.elements.size() / width == count,
                 "npy: shape {} of {} has {} elements of {} bytes, found {} bytes", to_string(array.shape),
                 name(array.dtype), count, width, array.elements.size());
  std::string header = format_text("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                   descr_of(array.dtype), shape_text(array.shape));
  if (!array.shape.empty()) header.append(kGrowthDigits - std::to_string(array.shape[0]).size(), ' ');
  constexpr std::size_t kBefore = 10;
  header.append((kAlignment - (kBefore + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';

  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");
  file += as_text(array.elements);
  return file;
}

void write_npy(const std::filesystem::path& path, const HostArray& array) {
  write_file(path, npy_bytes(array));
}

}  // namespace gpuforge
