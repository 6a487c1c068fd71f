#include "gpuforge/layout/device_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "gpuforge/base/error.h"

namespace gpuforge::layout {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string type_of(const char* layout) {
  return device_type(parse_layout(layout));
}

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  return "no error";
}

TEST(DeviceLayout, TypesAreWrittenAsTheyAre) {
  EXPECT_EQ(type_of("8:1"), "gpuforge::Layout<gpuforge::Int<8>,gpuforge::Int<1>>");
  EXPECT_EQ(type_of("(8):(1)"),
            "gpuforge::Layout<gpuforge::Shape<gpuforge::Int<8>>,gpuforge::Stride<gpuforge::Int<1>>>");
  EXPECT_EQ(type_of("((?,4),8):((-1,?),0)"),
            "gpuforge::Layout<gpuforge::Shape<gpuforge::Shape<int,gpuforge::Int<4>>,gpuforge::Int<8>>,"
            "gpuforge::Stride<gpuforge::Stride<gpuforge::Int<-1>,long long>,gpuforge::Int<0>>>");
  EXPECT_EQ(device_type(SwizzledLayout{Swizzle(3, 2, 5), Integer(16), parse_layout("?:1")}),
            "gpuforge::SwizzledLayout<gpuforge::Swizzle<3,2,5>,gpuforge::Int<16>,gpuforge::Layout<int,"
            "gpuforge::Int<1>>>");
  EXPECT_EQ(device_type(parse_tuple("(8,(4,?))")),
            "gpuforge::Shape<gpuforge::Int<8>,gpuforge::Shape<gpuforge::Int<4>,int>>");
}

TEST(DeviceLayout, TheSplitIsChosenByMode) {
  const Layout matrix = parse_layout("(70,(4,8)):(32,(8,1))");
  EXPECT_EQ(to_text(with_dynamic(matrix, {0})), "(?,(4,8)):(32,(8,1))");
  EXPECT_EQ(to_text(with_dynamic(matrix, {1}, {0})), "(70,(?,?)):(?,(8,1))");
  EXPECT_EQ(to_text(with_dynamic(parse_layout("8:1"), {0}, {})), "?:1");
  EXPECT_EQ(to_text(with_dynamic(matrix, {})), to_text(matrix));
  EXPECT_EQ(error_of([&] { with_dynamic(matrix, {2}); }),
            "layout: with_dynamic((70,(4,8)):(32,(8,1))): there is no mode 2 in (70,(4,8))");
}

TEST(DeviceLayout, ValuesStandInTheOrderOfTheType) {
  const DeviceLayout device =
      device_layout(parse_layout("(70,(4,8)):(5000000000,(8,1))"), parse_layout("(?,(4,?)):(?,(8,?))"));
  EXPECT_EQ(device.type, type_of("(?,(4,?)):(?,(8,?))"));
  EXPECT_THAT(device.values, ElementsAre(70, 8, 5000000000, 1));
  ASSERT_EQ(device.bytes().size(), 32u);
  EXPECT_EQ(std::memcmp(device.bytes().data(), device.values.data(), 32), 0);
  EXPECT_THAT(device_layout(SwizzledLayout{Swizzle(3, 2, 5), Integer(16), parse_layout("8:1")},
                            SwizzledLayout{Swizzle(3, 2, 5), Integer::unknown(), parse_layout("?:1")})
                  .values,
              ElementsAre(16, 8));
}

TEST(DeviceLayout, WithoutValuesItIsOneByte) {
  const DeviceLayout device = device_layout(parse_layout("(4,8):(8,1)"));
  EXPECT_THAT(device.values, IsEmpty());
  EXPECT_EQ(device.bytes().size(), 1u);
}

TEST(DeviceLayout, RefusesWhatIsNotWhatTheKernelIsCompiledFor) {
  const auto refused = [](const char* layout, const char* pattern) {
    return error_of([&] { device_layout(parse_layout(layout), parse_layout(pattern)); });
  };
  EXPECT_EQ(
      refused("(4,8):(8,1)", "(?,16):(16,1)"),
      "layout: device_layout((4,8):(8,1), (?,16):(16,1)): 8 stands where the kernel is compiled for 16");
  EXPECT_THAT(refused("(4,8):(8,1)", "(?,(2,4)):(8,(1,2))"), HasSubstr("8 has another hierarchy than (2,4)"));
  EXPECT_THAT(refused("(4,8,1):(8,1,0)", "(?,8):(8,1)"), HasSubstr("another hierarchy"));
  EXPECT_THAT(refused("(?,8):(8,1)", "(?,8):(8,1)"), HasSubstr("a launch needs a number where there is `?`"));
  EXPECT_THAT(refused("(3000000000,8):(8,1)", "(?,8):(8,1)"),
              HasSubstr("at most 2147483647 elements, not 3000000000"));
  EXPECT_THAT(error_of([] { type_of("3000000000:1"); }), HasSubstr("at most 2147483647 elements"));
  EXPECT_THAT(
      error_of([] {
        device_layout(SwizzledLayout{Swizzle(3, 2, 5), Integer(0), parse_layout("8:1")}, parse_layout("8:1"));
      }),
      HasSubstr("one is swizzled and the other is not"));
  EXPECT_THAT(error_of([] { device_type(parse_tuple("(8,_)")); }), HasSubstr("`_` has no type"));
}

}  // namespace
}  // namespace gpuforge::layout
