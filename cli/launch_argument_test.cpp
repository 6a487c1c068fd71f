#include "cli/launch_argument.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "gpuforge/array/npy.h"
#include "gpuforge/base/convert.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;
using Kind = Initial::Kind;

LaunchArgument parse(std::string_view text) {
  return parse_launch_argument(text, 3);
}

std::string complaint(std::string_view text) {
  try {
    parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  ADD_FAILURE() << "no error for " << text;
  return {};
}

template <typename T>
std::vector<T> elements(const LaunchArgument& argument) {
  std::vector<T> out(argument.initial.bytes.size() / sizeof(T));
  std::memcpy(out.data(), argument.initial.bytes.data(), out.size() * sizeof(T));
  return out;
}

TEST(LaunchArgument, ReadsScalarsOfEveryType) {
  const LaunchArgument scalar = parse("f32:1.5");
  EXPECT_EQ(scalar.role, ArgumentRole::scalar);
  EXPECT_EQ(scalar.type, "f32");
  EXPECT_EQ(scalar.label, "arg3");
  EXPECT_FALSE(scalar.named);
  EXPECT_EQ(load_double(scalar.scalar.data(), DType::f32), 1.5);
  for (DType dtype : kAllDTypes) {
    const LaunchArgument one = parse(format_text("{}:1", name(dtype)));
    EXPECT_EQ(one.scalar.size(), element_bytes(dtype));
    EXPECT_EQ(one.type, name(dtype));
    EXPECT_EQ(load_double(one.scalar.data(), dtype), 1);
  }
  EXPECT_EQ(parse("u16:65535").scalar, (std::vector<std::byte>(2, std::byte{0xff})));
  EXPECT_EQ(parse("u32:0xffffffff").scalar.size(), 4u);
  EXPECT_EQ(parse("u64:18446744073709551615").scalar, (std::vector<std::byte>(8, std::byte{0xff})));
  EXPECT_EQ(parse("alpha=f32:2").label, "alpha");
  const LaunchArgument structure = parse("hex:00fF10");
  EXPECT_EQ(structure.scalar, (std::vector<std::byte>{std::byte{0}, std::byte{0xff}, std::byte{0x10}}));
  EXPECT_EQ(structure.type, "struct of 3 bytes");
}

TEST(LaunchArgument, ReadsArrays) {
  const LaunchArgument in = parse("in:f32[1024]=random");
  EXPECT_EQ(in.role, ArgumentRole::in);
  EXPECT_EQ(in.dtype, DType::f32);
  EXPECT_EQ(in.shape, (Shape{1024}));
  EXPECT_EQ(in.initial.kind, Kind::random);
  EXPECT_EQ(in.bytes(), 4096u);
  const LaunchArgument out = parse("y=out:bf16[4,256]");
  EXPECT_EQ(out.role, ArgumentRole::out);
  EXPECT_EQ(out.label, "y");
  EXPECT_EQ(out.shape, (Shape{4, 256}));
  EXPECT_EQ(out.initial.kind, Kind::none);
  EXPECT_EQ(parse("out:f32[]").bytes(), 4u);
  EXPECT_EQ(parse("out:f32[0,5]").bytes(), 0u);
  EXPECT_EQ(parse("out:u8[2^10,64Ki]").bytes(), std::size_t{1} << 26);
  EXPECT_EQ(parse("out:u8[1e6]").bytes(), 1000000u);
  EXPECT_EQ(parse("in:f32[8]=zeros").initial.kind, Kind::zeros);
  EXPECT_EQ(parse("in:f32[8]=normal").initial.kind, Kind::normal);
  EXPECT_EQ(parse("in:i8[8]=arange").initial.kind, Kind::arange);
  for (const char* text : {"in:f32[8]=2.5", "in:f32[8]=full:2.5", "in:f32[8]=full 2.5"}) {
    EXPECT_EQ(parse(text).initial.kind, Kind::repeat);
    EXPECT_EQ(elements<float>(parse(text)), std::vector<float>{2.5f}) << text;
  }
  EXPECT_EQ(elements<float>(parse("in:f32[8]=ones")), std::vector<float>{1});
  EXPECT_EQ(elements<std::int64_t>(parse("in:i64[2]=9223372036854775807")),
            std::vector<std::int64_t>{9223372036854775807});
}

TEST(LaunchArgument, ReadsLists) {
  const LaunchArgument flat = parse("in:i64=[1,-2, 3 ]");
  EXPECT_EQ(flat.shape, (Shape{3}));
  EXPECT_EQ(elements<std::int64_t>(flat), (std::vector<std::int64_t>{1, -2, 3}));
  const LaunchArgument nested = parse("inout:f32=[[1,2,3],[nan,inf,-inf]]");
  EXPECT_EQ(nested.shape, (Shape{2, 3}));
  EXPECT_TRUE(std::isnan(elements<float>(nested)[3]));
  EXPECT_EQ(elements<float>(nested)[5], -INFINITY);
  EXPECT_EQ(parse("in:f32[2,2]=[1,2,3,4]").shape, (Shape{2, 2}));
  EXPECT_EQ(parse("in:f32=[]").shape, (Shape{0}));
  EXPECT_EQ(parse("in:f32=[[],[]]").shape, (Shape{2, 0}));
  EXPECT_EQ(parse("in:bool=[true,false]").initial.bytes.size(), 2u);
}

TEST(LaunchArgument, ReadsHex) {
  EXPECT_EQ(elements<std::uint8_t>(parse("inout:u8[2]=hex:00ff")), (std::vector<std::uint8_t>{0, 255}));
  EXPECT_EQ(parse("in:u8=hex:001122").shape, (Shape{3}));
  const LaunchArgument repeated = parse("inout:u8[8]=hex:00ff..");
  EXPECT_EQ(repeated.initial.kind, Kind::repeat);
  EXPECT_EQ(repeated.initial.bytes.size(), 2u);
  EXPECT_EQ(parse("in:u8[0]=hex:").bytes(), 0u);
}

TEST(LaunchArgument, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(
      complaint("in:f32[4,x]=zeros"),
      "run: --arg 'in:f32[4,x]=zeros': expected a size such as 256, 2^20, 1e6 or 64Ki, found 'x]=zeros' (at "
      "position 10)");
  EXPECT_THAT(complaint(""), HasSubstr("expected TYPE:VALUE"));
  EXPECT_THAT(complaint("1024"), HasSubstr("expected TYPE:VALUE"));
  EXPECT_THAT(complaint("y=1024"), HasSubstr("expected in:, out:, inout: or a type"));
  EXPECT_THAT(complaint("1y=f32:1"), HasSubstr("expected a name"));
  EXPECT_THAT(complaint("flt:1"), HasSubstr("expected a type (f64 f32"));
  EXPECT_THAT(complaint("inn:f32[2]=zeros"), HasSubstr("did you mean 'in'?"));
  EXPECT_EQ(
      complaint("out:u32[64]"),
      "run: --arg 'out:u32[64]': arrays are of one of f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 u8 bool, "
      "and only scalars of u32; i32 has the same bits (at position 5)");
  EXPECT_THAT(complaint("in:flt[2]=zeros"),
              AllOf(HasSubstr("expected a type (f64 f32"), Not(HasSubstr("u64"))));
  EXPECT_THAT(complaint("i8:300"), HasSubstr("does not fit i8 (-128 to 127) (at position 4)"));
  EXPECT_THAT(complaint("f32:"), HasSubstr("is not a number of f32"));
  EXPECT_THAT(complaint("in:f32[4]"),
              HasSubstr("expected '=' and an initial value, found the end (at position 10)"));
  EXPECT_THAT(complaint("in:f32[4"), HasSubstr("expected ',' or ']'"));
  EXPECT_THAT(complaint("in:f32[-4]=zeros"), HasSubstr("expected a size"));
  EXPECT_THAT(complaint("in:f32[,]=zeros"), HasSubstr("expected a size"));
  EXPECT_THAT(complaint("in:f32=random"), HasSubstr("expected a shape before '='"));
  EXPECT_THAT(complaint("in:f32[4]=randm"), HasSubstr("did you mean 'random'?"));
  EXPECT_THAT(complaint("in:i32[4]=normal"), HasSubstr("normal needs a floating-point dtype"));
  EXPECT_THAT(complaint("out:f32"), HasSubstr("expected a shape such as [4,256]"));
  EXPECT_THAT(complaint("out:f32[4]=zeros"), HasSubstr("out has no initial value"));
  EXPECT_THAT(complaint("out:@x.npy"), HasSubstr("out has no initial value"));
  EXPECT_THAT(complaint("in:@"), HasSubstr("expected a file name"));
  EXPECT_THAT(complaint("in:@data.bin"), HasSubstr("a raw file needs a dtype"));
  EXPECT_THAT(complaint("in:u8[4]=hex:00"), HasSubstr("expected 4 bytes, found 1"));
  EXPECT_THAT(complaint("in:u8[4]=hex:0"), HasSubstr("expected two digits for each byte"));
  EXPECT_THAT(complaint("in:u8[4]=hex:0g"),
              HasSubstr("expected hexadecimal digits, found 'g' (at position 15)"));
  EXPECT_THAT(complaint("in:f32=hex:00112233445566"), HasSubstr("no whole number of f32 elements"));
  EXPECT_THAT(complaint("in:f32[4]=hex:00.."), HasSubstr("expected 4 bytes, found 1"));
  EXPECT_THAT(complaint("hex:"), HasSubstr("expected hexadecimal digits"));
  EXPECT_THAT(complaint("in:i64=[1,2"), HasSubstr("expected ',' or ']', found the end"));
  EXPECT_THAT(complaint("in:i64=[1,]"), HasSubstr("expected an element after ','"));
  EXPECT_THAT(complaint("in:i64=[1]x"), HasSubstr("expected nothing after the list"));
  EXPECT_THAT(complaint("in:i64=[[1,2],[3]]"), HasSubstr("expected 2 items as in the list before, found 1"));
  EXPECT_THAT(complaint("in:i64=[[1],2]"), HasSubstr("expected a list, as before"));
  EXPECT_THAT(complaint("in:i64=[1,[2]]"), HasSubstr("expected a number, as in the lists before"));
  EXPECT_THAT(complaint("in:i64[4]=[1,2]"), HasSubstr("expected 4 elements, found 2 in the list"));
  EXPECT_THAT(complaint("in:i64=[1.5]"), HasSubstr("not a whole number"));
  EXPECT_THAT(complaint("in:i64=" + std::string(100000, '[')), HasSubstr("at most 16 nested lists"));
  EXPECT_THAT(complaint("out:f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"), HasSubstr("at most 16 dimensions"));
}

TEST(LaunchArgument, RefusesSizesThatOverflow) {
  for (const char* text : {"out:f64[2^61]", "out:u8[2^40,2^40]", "in:f32[9223372036854775807,2]=zeros"}) {
    EXPECT_THROW(parse(text), Error) << text;
  }
}

class LaunchArgumentFiles : public testing::Test {
 protected:
  LaunchArgument load(const std::string& text) {
    LaunchArgument argument = parse(text);
    load_file(argument);
    return argument;
  }
  std::string path(const std::string& file) const { return (folder_ / file).string(); }
  const TemporaryFolder folder_;
};

TEST_F(LaunchArgumentFiles, TakesDtypeAndShapeFromNpy) {
  HostArray array{DType::i32, {2, 2}, std::vector<std::byte>(16, std::byte{1})};
  write_npy(path("a.npy"), array);
  const LaunchArgument got = load("in:@" + path("a.npy"));
  EXPECT_EQ(got.dtype, DType::i32);
  EXPECT_EQ(got.shape, (Shape{2, 2}));
  EXPECT_EQ(got.initial.kind, Kind::elements);
  EXPECT_EQ(got.initial.bytes, array.elements);
  EXPECT_EQ(got.type, "i32");
  EXPECT_EQ(load("in:i32[2,2]=@" + path("a.npy")).bytes(), 16u);
  EXPECT_THROW(load("in:f32=@" + path("a.npy")), Error);
  EXPECT_THROW(load("in:i32[4]=@" + path("a.npy")), Error);
}

TEST_F(LaunchArgumentFiles, ReadsRawFiles) {
  write_file(path("a.bin"), "01234567");
  EXPECT_EQ(load("in:i32=@" + path("a.bin")).shape, (Shape{2}));
  EXPECT_EQ(load("in:u8[2,4]=@" + path("a.bin")).shape, (Shape{2, 4}));
  EXPECT_THROW(load("in:i32[3]=@" + path("a.bin")), Error);
  write_file(path("odd.bin"), "012");
  EXPECT_THROW(load("in:i32=@" + path("odd.bin")), Error);
}

TEST_F(LaunchArgumentFiles, MissingAndMalformedFilesAreErrorsOfTheirKind) {
  try {
    load("in:@" + path("none.npy"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
  }
  write_file(path("bad.npy"), "no header at all");
  try {
    load("in:@" + path("bad.npy"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
  }
}

}  // namespace
}  // namespace gpuforge::cli
