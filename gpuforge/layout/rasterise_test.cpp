#include "gpuforge/layout/rasterise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "gpuforge/base/error.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/layout/picture.h"

namespace gpuforge::layout {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A program of that name that does what the script says.
class RasteriseTest : public testing::Test {
 protected:
  void converter(const std::string& script) {
    const auto file = folder_.write("odd folder/rsvg-convert", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  std::string search_path() const { return "/nowhere::" + (folder_ / "odd folder").string(); }
  Error failure(const std::optional<std::string>& path) {
    try {
      rasterise("<svg/>", path);
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
  }
  TemporaryFolder folder_;
};

TEST_F(RasteriseTest, WithoutAConverterThePackageIsNamed) {
  for (const auto& path :
       {std::optional<std::string>(), std::optional<std::string>(""), std::optional<std::string>("/nowhere"),
        std::optional<std::string>(folder_.path())}) {
    const Error error = failure(path);
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_THAT(error.message(), HasSubstr("package librsvg2-bin"));
  }
}

TEST_F(RasteriseTest, TheConverterReadsThePictureAndItsOutputIsTheResult) {
  converter("printf '\\211PNG'; for last; do :; done; cat \"$last\"; echo \" $2\"");
  const std::string svg = "<svg width=\"100\" height=\"20\"/>";
  EXPECT_EQ(rasterise(svg, search_path()), "\x89PNG" + svg + " --zoom=2\n");
  const std::string large = "<svg width=\"100\" height=\"2049\"/>";
  EXPECT_EQ(rasterise(large, search_path()), "\x89PNG" + large + " --zoom=1\n");
}

TEST_F(RasteriseTest, AFailureIsPassedOn) {
  converter("echo no fonts >&2; exit 3");
  EXPECT_THAT(failure(search_path()).message(), HasSubstr("made no PNG: exit code 3"));
  EXPECT_EQ(failure(search_path()).detail(), "no fonts\n");
  converter("echo hello");
  EXPECT_THAT(failure(search_path()).message(), HasSubstr("its output is something else"));
}

TEST_F(RasteriseTest, TheInstalledConverterMakesAPng) {
  const char* const path = std::getenv("PATH");
  std::string png;
  const std::string svg = draw(evaluate("Sw<3,3,3> o 0 o (8,64):(64,1)")).svg;
  try {
    png = rasterise(svg, path != nullptr ? std::optional<std::string>(path) : std::nullopt);
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("librsvg2-bin") == std::string_view::npos) throw;
    GTEST_SKIP() << error.what();
  }
  ASSERT_THAT(png, StartsWith("\x89PNG\r\n"));
  const auto number = [&](std::size_t at) {  // big-endian, in the header
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(png[at + i]);
    return value;
  };
  EXPECT_THAT(svg, HasSubstr("width=\"" + std::to_string(number(16) / 2) + "\" height=\"" +
                             std::to_string(number(20) / 2) + "\""));
}

}  // namespace
}  // namespace gpuforge::layout
