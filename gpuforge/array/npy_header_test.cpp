#include "gpuforge/array/npy_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

using testing::HasSubstr;

std::string file_with(const std::string& header) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header;
}

NpyHeader parse(const std::string& file) {
  return parse_npy_header(std::as_bytes(std::span(file)), "x.npy");
}

std::string error_of(const std::string& file) {
  try {
    parse(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return error.message();
  }
  return "no error";
}

std::string header_error(const std::string& header) {
  return error_of(file_with(header));
}

TEST(NpyHeader, AnyOrderSpacingAndQuotes) {
  for (const char* const text :
       {"{'descr':'<f4','fortran_order':True,'shape':(2,3)}",
        "{'shape': (2, 3), 'fortran_order': True, 'descr': '<f4'}\n",
        " {  \"descr\" : \"<f4\" , 'fortran_order' : True , 'shape' : ( 2 , 3 , ) , }  \n",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2L, 3L), }"}) {
    const NpyHeader header = parse(file_with(text));
    EXPECT_EQ(header.descr, "<f4") << text;
    EXPECT_TRUE(header.fortran_order);
    EXPECT_EQ(header.shape, Shape({2, 3}));
    EXPECT_FALSE(header.structured);
    EXPECT_EQ(header.data_at, 10 + std::string(text).size());
  }
}

TEST(NpyHeader, ShapesOfEveryRank) {
  const auto shape = [](const std::string& text) {
    return parse(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': " + text + "}")).shape;
  };
  EXPECT_EQ(shape("()"), Shape({}));
  EXPECT_EQ(shape("(5,)"), Shape({5}));
  EXPECT_EQ(shape("(0, 9223372036854775807)"), Shape({0, 9223372036854775807}));
  EXPECT_EQ(shape("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), Shape::filled(16, 1));
}

TEST(NpyHeader, ShapesThatAreNone) {
  const auto error = [](const std::string& text) {
    return header_error("{'descr': '<f4', 'fortran_order': False, 'shape': " + text + "}");
  };
  EXPECT_THAT(error("(5)"), HasSubstr("a comma after the only dimension"));
  EXPECT_THAT(error("(-5,)"), HasSubstr("whole numbers"));
  EXPECT_THAT(error("(1.5,)"), HasSubstr("found \".5"));
  EXPECT_THAT(error("(,)"), HasSubstr("whole numbers"));
  EXPECT_THAT(error("(1,,2)"), HasSubstr("whole numbers"));
  EXPECT_THAT(error("(99999999999999999999,)"), HasSubstr("dimensions below 2^63"));
  EXPECT_THAT(error("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), HasSubstr("at most 16 dimensions"));
  EXPECT_THAT(error("[2, 3]"), HasSubstr("'('"));
  EXPECT_THAT(error("(2, 3"), HasSubstr("found"));
}

TEST(NpyHeader, DictionariesThatAreNone) {
  EXPECT_THAT(header_error(""), HasSubstr("should have '{', found its end"));
  EXPECT_THAT(header_error("{"), HasSubstr("a quoted text, found its end"));
  EXPECT_THAT(header_error("{}"), HasSubstr("only some of them"));
  EXPECT_THAT(header_error("{'descr': '<f4', 'shape': (2,)}"), HasSubstr("only some of them"));
  EXPECT_THAT(header_error("{'descr': '<f4', 'descr': '<f4'}"), HasSubstr("'descr' again"));
  EXPECT_THAT(header_error("{'other': 1}"), HasSubstr("found 'other'"));
  EXPECT_THAT(header_error("{'descr': 4}"), HasSubstr("a quoted text"));
  EXPECT_THAT(header_error("{'descr': '<f4"), HasSubstr("a closing quote"));
  EXPECT_THAT(header_error("{'descr' '<f4'}"), HasSubstr("':'"));
  EXPECT_THAT(header_error("{'fortran_order': true}"), HasSubstr("True or False"));
  EXPECT_THAT(header_error("{'fortran_order': 1}"), HasSubstr("True or False"));
  EXPECT_THAT(header_error("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x"),
              HasSubstr("nothing after the dictionary, found \"x\""));
  EXPECT_THAT(header_error("{'descr': [('a', '<f4'}"), HasSubstr("closing bracket"));
  EXPECT_THAT(header_error("{'" + std::string(5000, 'k') + "': 1}"), HasSubstr("kkk..."));
  EXPECT_THAT(header_error("{'\x01\xff': 1}"), HasSubstr("found '\?\?'"));
}

TEST(NpyHeader, StructuredTypesAreKeptAsText) {
  const NpyHeader header = parse(file_with(
      "{'descr': [('a]', '<f4', (2, 3)), ('b', [('c', '<i2')])], 'fortran_order': False, 'shape': (2,)}"));
  EXPECT_TRUE(header.structured);
  EXPECT_EQ(header.descr, "[('a]', '<f4', (2, 3)), ('b', [('c', '<i2')])]");
}

TEST(NpyHeader, DeepNestingCostsNothing) {
  const std::string deep(60000, '[');
  EXPECT_THAT(header_error("{'descr': " + deep), HasSubstr("closing bracket"));
}

TEST(NpyHeader, MarkVersionAndLength) {
  EXPECT_THAT(error_of(""), HasSubstr("NumPy's mark"));
  EXPECT_THAT(error_of("\x93NUMP"), HasSubstr("NumPy's mark"));
  EXPECT_THAT(error_of("PK\x03\x04 a zip of arrays"), HasSubstr("NumPy's mark"));
  EXPECT_THAT(error_of("\x93NUMPY"), HasSubstr("cut off: expected 10 bytes, found 6"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\x04\x00", 8)), HasSubstr("version 4.0"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\x00\x00", 8)), HasSubstr("version 0.0"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\x01\x01", 8)), HasSubstr("version 1.1"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\x01\x00\x05", 9)), HasSubstr("expected 10 bytes, found 9"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\x02\x00\x05\x00\x00", 11)),
              HasSubstr("expected 12 bytes, found 11"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13)),
              HasSubstr("expected 4294967307 bytes, found 13"));
}

}  // namespace
}  // namespace gpuforge
