#include "gpuforge/base/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gpuforge {
namespace {

TEST(DType, NamesReadBack) {
  std::set<std::string_view> names;
  for (DType dtype : kAllDTypes) {
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
    names.insert(name(dtype));
  }
  EXPECT_EQ(names.size(), 12u);
  EXPECT_EQ(name(DType::boolean), "bool");
}

TEST(DType, ReadsWhatUsersOfOtherLibrariesType) {
  for (const auto& [text, expected] :
       std::initializer_list<std::pair<const char*, DType>>{{"float64", DType::f64},
                                                            {"double", DType::f64},
                                                            {"float32", DType::f32},
                                                            {"float", DType::f32},
                                                            {"single", DType::f32},
                                                            {"FLOAT32", DType::f32},
                                                            {"half", DType::f16},
                                                            {"float16", DType::f16},
                                                            {"fp16", DType::f16},
                                                            {"bfloat16", DType::bf16},
                                                            {"float8_e4m3fn", DType::f8e4m3},
                                                            {"e4m3", DType::f8e4m3},
                                                            {"fp8e4m3", DType::f8e4m3},
                                                            {"float8_e5m2", DType::f8e5m2},
                                                            {"e5m2", DType::f8e5m2},
                                                            {"int64", DType::i64},
                                                            {"long", DType::i64},
                                                            {"int32", DType::i32},
                                                            {"int", DType::i32},
                                                            {"int16", DType::i16},
                                                            {"short", DType::i16},
                                                            {"int8", DType::i8},
                                                            {"char", DType::i8},
                                                            {"uint8", DType::u8},
                                                            {"byte", DType::u8},
                                                            {"boolean", DType::boolean},
                                                            {"Bool", DType::boolean}}) {
    EXPECT_EQ(parse_dtype(text), expected) << text;
  }
}

TEST(DType, RefusesEverythingElse) {
  for (const char* text : {"", " ", "f", "f8", "f4", "f3", "int7", "float 32", "f32 ", "u16", "complex64"}) {
    EXPECT_EQ(parse_dtype(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_dtype(std::string(100000, 'f')), std::nullopt);
  EXPECT_EQ(parse_dtype(std::string_view("f32\0", 4)), std::nullopt);
}

TEST(DType, SizesAndKinds) {
  std::size_t bytes = 0;
  int floating = 0;
  int integer = 0;
  for (DType dtype : kAllDTypes) {
    bytes += element_bytes(dtype);
    floating += is_floating(dtype) ? 1 : 0;
    integer += is_integer(dtype) ? 1 : 0;
    EXPECT_FALSE(is_floating(dtype) && is_integer(dtype));
    EXPECT_EQ(visit_dtype(dtype, [](auto type) { return dtype_of<typename decltype(type)::type>(); }), dtype);
  }
  EXPECT_EQ(bytes, 8u + 4 + 2 + 2 + 1 + 1 + 8 + 4 + 2 + 1 + 1 + 1);
  EXPECT_EQ(floating, 6);
  EXPECT_EQ(integer, 5);
  EXPECT_FALSE(is_integer(DType::boolean));
  EXPECT_EQ(element_bytes(DType::bf16), 2u);
}

TEST(DType, AValueOutsideTheEnumerationIsAnInternalError) {
  const auto bad = static_cast<DType>(200);
  EXPECT_THROW(element_bytes(bad), Error);
  EXPECT_EQ(name(bad), "unknown");
}

}  // namespace
}  // namespace gpuforge
