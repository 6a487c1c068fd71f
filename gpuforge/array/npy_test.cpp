#include "gpuforge/array/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <random>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

namespace gpuforge {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Files as NumPy 2.4.6 and ml_dtypes 0.6.0 wrote them, in parts: version, header text, the spaces that pad
// it, data.
struct NumPyFile {
  const char* label;
  DType dtype;
  Shape shape;
  int version;
  const char* header;
  std::size_t spaces;
  const char* data;       // hex, as in the file
  const char* row_major;  // hex, little-endian, as we should have it
  bool ours;              // we write the same bytes
};

const NumPyFile kFiles[] = {
    {"f8",
     DType::f64,
     {3},
     1,
     "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
     60,
     "000000000000f83f00000000000000c0000000000000f87f",
     "000000000000f83f00000000000000c0000000000000f87f",
     true},
    {"f4 table",
     DType::f32,
     {2, 3},
     1,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
     58,
     "000000000000803f0000004000004040000080400000a040",
     "000000000000803f0000004000004040000080400000a040",
     true},
    {"f2",
     DType::f16,
     {2},
     1,
     "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }",
     60,
     "662eff7b",
     "662eff7b",
     true},
    {"i8",
     DType::i64,
     {2, 1},
     1,
     "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 1), }",
     58,
     "ffffffffffffffff0000000000000040",
     "ffffffffffffffff0000000000000040",
     true},
    {"i4",
     DType::i32,
     {2},
     1,
     "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }",
     60,
     "01000000feffffff",
     "01000000feffffff",
     true},
    {"i2",
     DType::i16,
     {2},
     1,
     "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }",
     60,
     "2c01d4fe",
     "2c01d4fe",
     true},
    {"i1",
     DType::i8,
     {2},
     1,
     "{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }",
     60,
     "807f",
     "807f",
     true},
    {"u1",
     DType::u8,
     {2},
     1,
     "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }",
     60,
     "00ff",
     "00ff",
     true},
    {"b1",
     DType::boolean,
     {3},
     1,
     "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }",
     60,
     "010001",
     "010001",
     true},
    {"scalar",
     DType::f32,
     {},
     1,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
     62,
     "0000e040",
     "0000e040",
     true},
    {"empty",
     DType::f32,
     {0, 3},
     1,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }",
     58,
     "",
     "",
     true},
    {"rank 5",
     DType::i8,
     {1, 2, 1, 2, 1},
     1,
     "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 2, 1, 2, 1), }",
     49,
     "00010203",
     "00010203",
     true},
    {"fortran",
     DType::i16,
     {2, 3},
     1,
     "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
     59,
     "000003000100040002000500",
     "000001000200030004000500",
     false},
    {"fortran 3-d",
     DType::u8,
     {2, 3, 4},
     1,
     "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }",
     56,
     "000c04100814010d05110915020e06120a16030f07130b17",
     "000102030405060708090a0b0c0d0e0f1011121314151617",
     false},
    {"big-endian f4",
     DType::f32,
     {2},
     1,
     "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }",
     60,
     "3fc00000c0000000",
     "0000c03f000000c0",
     false},
    {"big-endian i8 fortran",
     DType::i64,
     {2, 2},
     1,
     "{'descr': '>i8', 'fortran_order': True, 'shape': (2, 2), }",
     59,
     "0000000000000000000000000000000200000000000000010000000000000003",
     "0000000000000000010000000000000002000000000000000300000000000000",
     false},
    {"version 2",
     DType::i32,
     {2},
     2,
     "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }",
     58,
     "0100000002000000",
     "0100000002000000",
     false},
    {"version 3",
     DType::i32,
     {2},
     3,
     "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }",
     58,
     "0100000002000000",
     "0100000002000000",
     false},
    {"bfloat16 of ml_dtypes",
     DType::bf16,
     {2},
     1,
     "{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }",
     60,
     "803f20c0",
     "803f20c0",
     true},
    {"float8_e5m2 of ml_dtypes",
     DType::f8e5m2,
     {2},
     1,
     "{'descr': '<f1', 'fortran_order': False, 'shape': (2,), }",
     60,
     "3cc1",
     "3cc1",
     false},
    {"float8_e4m3fn of ml_dtypes",
     DType::f8e4m3,
     {2},
     1,
     "{'descr': '<V1', 'fortran_order': False, 'shape': (2,), }",
     60,
     "38c2",
     "38c2",
     true},
};

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// Magic, version, length and header.
std::string npy_file(int version, const std::string& header, const std::string& data) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + data;
}

std::string file_of(const NumPyFile& file) {
  return npy_file(file.version, file.header + std::string(file.spaces, ' ') + "\n", bytes_of_hex(file.data));
}

HostArray parse(const std::string& file, std::optional<DType> raw = {}) {
  return parse_npy(std::as_bytes(std::span(file)), "x.npy", raw);
}

std::string error_of(const std::string& file, std::optional<DType> raw = {}) {
  try {
    parse(file, raw);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse) << error.what();
    return error.message();
  }
  return "no error";
}

std::string simple(const std::string& descr, const std::string& data = {}) {
  return npy_file(1, "{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,), }\n", data);
}

TEST(Npy, ReadsWhatNumPyWrites) {
  for (const NumPyFile& file : kFiles) {
    SCOPED_TRACE(file.label);
    const HostArray array =
        parse(file_of(file), std::string_view(file.header).find("V1") != std::string_view::npos
                                 ? std::optional(file.dtype)
                                 : std::nullopt);
    EXPECT_EQ(array.dtype, file.dtype);
    EXPECT_EQ(array.shape, file.shape);
    EXPECT_EQ(as_text(array.elements), bytes_of_hex(file.row_major));
  }
}

TEST(Npy, WritesTheBytesNumPyWrites) {
  int compared = 0;
  for (const NumPyFile& file : kFiles) {
    if (!file.ours) continue;
    SCOPED_TRACE(file.label);
    const std::string data = bytes_of_hex(file.row_major);
    const auto* const begin = reinterpret_cast<const std::byte*>(data.data());
    const std::string written = npy_bytes({file.dtype, file.shape, {begin, begin + data.size()}});
    EXPECT_EQ(written, file_of(file));
    EXPECT_EQ((written.size() - data.size()) % 64, 0u);
    ++compared;
  }
  EXPECT_GE(compared, 12);
}

TEST(Npy, EveryDtypeComesBack) {
  for (const DType dtype : kAllDTypes) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0}, Shape{2, 5}, Shape::filled(kMaxRank, 1)}) {
      HostArray array{dtype, shape, {}};
      array.elements.resize(static_cast<std::size_t>(element_count(shape)) * element_bytes(dtype));
      for (std::size_t i = 0; i < array.elements.size(); ++i) {
        array.elements[i] = static_cast<std::byte>(dtype == DType::boolean ? i % 2 : i * 37);
      }
      const HostArray back = parse(npy_bytes(array), dtype);
      EXPECT_EQ(back.dtype, dtype);
      EXPECT_EQ(back.shape, shape);
      EXPECT_EQ(back.elements, array.elements);
    }
  }
}

TEST(Npy, RawBytesNeedAWordAboutThem) {
  EXPECT_EQ(parse(simple("'<V2'", "1234")).dtype, DType::bf16);
  EXPECT_EQ(parse(simple("'|V2'", "1234"), DType::f16).dtype, DType::f16);
  EXPECT_EQ(parse(simple("'|V1'", "12"), DType::f8e5m2).dtype, DType::f8e5m2);
  EXPECT_THAT(error_of(simple("'<V1'", "12")),
              AllOf(StartsWith("npy: x.npy"), HasSubstr("f8e4m3 or f8e5m2")));
  EXPECT_THAT(error_of(simple("'<V2'", "1234"), DType::f32), HasSubstr("cannot be f32, which has 4 bytes"));
}

TEST(Npy, ByteOrderMarks) {
  EXPECT_EQ(parse(simple("'=i2'", "1234")).elements[0], std::byte{'1'});
  EXPECT_EQ(parse(simple("'i2'", "1234")).elements[0], std::byte{'1'});
  EXPECT_EQ(parse(simple("'>i2'", "1234")).elements[0], std::byte{'2'});
  EXPECT_EQ(parse(simple("'<i1'", "12")).dtype, DType::i8);
  EXPECT_EQ(parse(simple("'>u1'", "12")).elements[0], std::byte{'1'});
}

TEST(Npy, BoolsAreZeroOrOne) {
  const HostArray array = parse(simple("'|b1'", std::string("\x02\x00", 2)));
  EXPECT_EQ(array.elements[0], std::byte{1});
  EXPECT_EQ(array.elements[1], std::byte{0});
}

TEST(Npy, TypesWeLackAreNamed) {
  for (const char* const descr :
       {"'<u2'", "'<u4'", "'<u8'", "'<c8'", "'<c16'", "'|S3'", "'<U3'", "'<M8[s]'", "'<m8[ns]'", "'<f16'",
        "'|V5'", "'|O'", "'<f3'", "''", "'<'", "'float32'"}) {
    const std::string quoted = descr;
    EXPECT_THAT(
        error_of(simple(quoted, std::string(32, 'x'))),
        AllOf(StartsWith("npy: x.npy has elements of type"), HasSubstr(quoted.substr(1, quoted.size() - 2))));
  }
  EXPECT_THAT(error_of(simple("'<u2'", "1234")), HasSubstr("unsigned integers above 8 bits"));
  EXPECT_THAT(error_of(simple("'<c8'")), HasSubstr("complex"));
  EXPECT_THAT(error_of(simple("'|O'")), HasSubstr("objects"));
  EXPECT_THAT(error_of(simple("[('a', '<f4'), ('b', '<i8')]")),
              HasSubstr("[('a', '<f4'), ('b', '<i8')]: structured"));
}

TEST(Npy, DataMustBeWhole) {
  EXPECT_THAT(error_of(simple("'<i4'", "1234567")), HasSubstr("expected 8 bytes, found 7"));
  EXPECT_THAT(error_of(simple("'<i4'", "123456789")), HasSubstr("expected 8 bytes, found 9"));
  EXPECT_THAT(error_of(simple("'<i4'", "")), HasSubstr("expected 8 bytes, found 0"));
}

TEST(Npy, HugeShapesAllocateNothing) {
  const auto shaped = [](const std::string& shape) {
    return npy_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }\n", "12345678");
  };
  EXPECT_THAT(error_of(shaped("(4611686018427387904, 4)")), HasSubstr("more than any file can hold"));
  EXPECT_THAT(error_of(shaped("(9223372036854775807,)")), HasSubstr("more than any file can hold"));
  EXPECT_THAT(error_of(shaped("(9223372036854775808,)")), HasSubstr("dimensions below 2^63"));
  EXPECT_THAT(error_of(shaped("(1000000000000,)")), HasSubstr("expected 8000000000000 bytes, found 8"));
  EXPECT_THAT(error_of(shaped("(0, 4611686018427387904, 4611686018427387904)")),
              HasSubstr("expected 0 bytes, found 8"));
}

TEST(Npy, EveryTruncationIsAnError) {
  const std::string file = file_of(kFiles[1]);
  for (std::size_t bytes = 0; bytes < file.size(); ++bytes) {
    EXPECT_NE(error_of(file.substr(0, bytes)), "no error") << bytes;
  }
}

// Whatever is changed, it parses or is a parse Error, and no byte past the file is read (a sanitizer would
// see it).
TEST(Npy, SurvivesMutations) {
  std::mt19937 random(7);
  const std::string interesting = "'\"{}()[],:0123456789LTF<>=|fiubVx \n\0\xff\x93";
  int parsed = 0;
  for (int round = 0; round < 40000; ++round) {
    std::string file = file_of(kFiles[random() % std::size(kFiles)]);
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes && !file.empty(); ++i) {
      const std::size_t at = random() % std::min<std::size_t>(file.size(), random() % 4 == 0 ? 200 : 70);
      switch (random() % 5) {
        case 0:
          file[at] = interesting[random() % interesting.size()];
          break;
        case 1:
          file[at] = static_cast<char>(random());
          break;
        case 2:
          file.erase(at, 1 + random() % 5);
          break;
        case 3:
          file.insert(at, 1 + random() % 5, interesting[random() % interesting.size()]);
          break;
        default:
          file.resize(at);
          break;
      }
    }
    const std::vector<std::byte> exact(reinterpret_cast<const std::byte*>(file.data()),
                                       reinterpret_cast<const std::byte*>(file.data()) + file.size());
    try {
      const HostArray array = parse_npy(exact, "x.npy", DType::f8e4m3);
      EXPECT_LE(array.elements.size(), exact.size());
      EXPECT_EQ(array.elements.size(),
                static_cast<std::size_t>(element_count(array.shape)) * element_bytes(array.dtype));
      ++parsed;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::parse) << error.what();
      ASSERT_THAT(error.message(), AllOf(StartsWith("npy: "), HasSubstr("x.npy")));
    }
  }
  EXPECT_GT(parsed, 100);
}

TEST(Npy, Files) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "x.npy";
  const HostArray array{DType::u8, {3}, {std::byte{1}, std::byte{2}, std::byte{3}}};
  write_npy(path, array);
  EXPECT_EQ(read_npy(path).elements, array.elements);
  write_file(path, "not an array");
  EXPECT_THROW(
      {
        try {
          read_npy(path);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::parse);
          EXPECT_THAT(error.message(), HasSubstr(path.string()));
          throw;
        }
      },
      Error);
  write_file(path, "");
  EXPECT_THROW(read_npy(path), Error);
  EXPECT_THROW(read_npy(path.parent_path() / "absent.npy"), Error);
}

TEST(Npy, WritingChecksItsArray) {
  EXPECT_THROW(npy_bytes({DType::f32, {2}, std::vector<std::byte>(7)}), Error);
  EXPECT_THROW(npy_bytes({DType::f32, {2}, std::vector<std::byte>(12)}), Error);
}

}  // namespace
}  // namespace gpuforge
