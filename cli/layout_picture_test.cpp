#include "cli/layout_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;

Invocation invocation(std::initializer_list<std::pair<std::string_view, std::string>> given) {
  Invocation result;
  for (const auto& [name, value] : given) result.add(name, value);
  return result;
}

std::string complaint(const Invocation& given) {
  try {
    layout_picture_options(given, {}, "");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  return "nothing was thrown";
}

TEST(LayoutPicture, OptionsBecomeARequest) {
  layout::Bindings bindings;
  bindings.emplace("M", layout::evaluate("4"));
  const layout::PictureOptions options =
      layout_picture_options(invocation({{"access", "f16x8"},
                                         {"space", "global"},
                                         {"store", ""},
                                         {"tile", "(M,64)"},
                                         {"memory", "Sw<3,3,3> o 0 o (M,64):(64,1)"},
                                         {"element", "f16"},
                                         {"svg", "x.svg"}}),
                             bindings, "title");
  ASSERT_TRUE(options.access && options.tile && options.memory);
  EXPECT_EQ(options.access->type.bytes(), 16);
  EXPECT_EQ(options.access->space, layout::Space::global);
  EXPECT_FALSE(options.access->is_load);
  EXPECT_EQ(layout::to_text(*options.tile), "(4,64)");
  EXPECT_EQ(layout::to_text(*options.memory), "Sw<3,3,3> o 0 o (4,64):(64,1)");
  EXPECT_EQ(options.element_bytes, 2);
}

TEST(LayoutPicture, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(complaint(invocation({{"space", "global"}})),
              HasSubstr("--space is about an access: give --access"));
  EXPECT_THAT(complaint(invocation({{"store", ""}})), HasSubstr("--store is about an access"));
  EXPECT_THAT(complaint(invocation({{"memory", "8:1"}})), HasSubstr("--memory is about an access"));
  EXPECT_THAT(complaint(invocation({{"access", "f16x7"}})), HasSubstr("7 elements of 2 bytes"));
  EXPECT_THAT(complaint(invocation({{"tile", "4:1"}, {"svg", "x.svg"}})),
              HasSubstr("--tile: expected a shape, found 4:1"));
  EXPECT_THAT(complaint(invocation({{"tile", "4"}})), HasSubstr("--tile is about a picture or an access"));
  EXPECT_THAT(complaint(invocation({{"element", "f16"}})), HasSubstr("--element is about a picture"));
  EXPECT_THAT(complaint(invocation({{"access", "f32"}, {"memory", "(4,8)"}})),
              HasSubstr("--memory: expected a layout, found (4,8)"));
}

TEST(LayoutPicture, AnAccessAsJson) {
  layout::PictureOptions options = layout_picture_options(invocation({{"access", "f32"}}), {}, "");
  const layout::Value column = layout::evaluate("(32,32):(32,1)");
  const Json shared = access_json(layout::access_of(column, options));
  EXPECT_EQ(shared.at("wavefronts").as_integer(), 32);
  EXPECT_EQ(shared.at("ideal_wavefronts").as_integer(), 1);
  EXPECT_EQ(shared.at("conflict").at("bank").as_integer(), 0);
  EXPECT_EQ(shared.at("conflict").at("threads").as_array().size(), 32u);
  EXPECT_THAT(shared.at("why").as_string(), HasSubstr("32-way bank conflict"));
  options.access->space = layout::Space::global;
  const Json global = access_json(layout::access_of(column, options));
  EXPECT_EQ(global.at("sectors").as_integer(), 32);
  EXPECT_EQ(global.at("moved_bytes").as_integer(), 1024);
  const Json good = access_json(layout::access_of(
      layout::evaluate("(32,32):(1,32)"), layout_picture_options(invocation({{"access", "f32"}}), {}, "")));
  EXPECT_TRUE(good.at("conflict").is_null());
}

}  // namespace
}  // namespace gpuforge::cli
