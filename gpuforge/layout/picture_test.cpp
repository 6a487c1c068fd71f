#include "gpuforge/layout/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "gpuforge/base/error.h"
#include "gpuforge/layout/svg_reader_for_tests.h"

namespace gpuforge::layout {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

struct Case {
  std::string expression;
  std::string access;  // may be empty
  std::string tile;
  Space space = Space::shared;
};

PictureOptions options_of(const Case& one) {
  PictureOptions options;
  options.title = one.expression;
  if (!one.access.empty())
    options.access = AccessRequest{.type = parse_access(one.access), .space = one.space};
  if (!one.tile.empty()) options.tile = parse_tuple(one.tile);
  return options;
}

std::string svg_of(const Case& one) {
  return draw(evaluate(one.expression), options_of(one)).svg;
}

std::string complaint(const Case& one) {
  try {
    svg_of(one);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  return "nothing was thrown";
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"8:2", "", ""},
      {"1:0", "", ""},
      {"100:3", "", ""},
      {"(8,8):(8,1)", "", ""},
      {"(4,8,3):(1,4,32)", "", ""},
      {"(70,1):(1,0)", "", ""},
      {"(4,4):(-4,1)", "", ""},
      {"(((2,2),3),(4,(2,3))):(((1,2),4),(12,(48,96)))", "", ""},
      {"zipped_divide((16,16):(16,1),(4,4))", "", ""},
      {"make_layout_tv((4,8):(8,1),(2,4):(4,1))", "", ""},
      {"make_layout_tv(64:1,2:1)", "", ""},
      {"((4,8),(2,2)):((32,1),(16,8))", "", "(16,8)"},
      {"((4,8),2):((0,1),8)", "", "(8,3)"},
      {"Sw<2,2,3> o 0 o (8,32):(32,1)", "", ""},
      {"(8,32):(32,1)", "f32x4", ""},
      {"Sw<3,2,3> o 0 o (8,32):(32,1)", "f32x4", ""},
      {"(16,32):(32,1)", "f16", "", Space::global},
      {"((4,8),(2,2)):((32,1),(16,8))", "u8", "(16,8)"},
      {"(2,2):(1000000000000,1)", "", ""},
      {"(16,2):(1,1000000007)", "f64", "", Space::global},
  };
  return all;
}

TEST(Picture, EveryKindIsWellFormedAndFitsItsFrame) {
  for (const Case& one : cases()) {
    const SvgReader svg(svg_of(one));
    const std::vector<SvgElement> roots = svg.all("svg");
    ASSERT_EQ(roots.size(), 1u);
    const double width = roots[0].number("width"), height = roots[0].number("height");
    EXPECT_EQ(roots[0].attributes.at("viewBox"), "0 0 " + number_text(width) + " " + number_text(height));
    for (const SvgElement& text : svg.all("text")) {
      const TextBox box = text_box(text);
      EXPECT_TRUE(box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height)
          << one.expression << ": '" << text.text << "' lies outside";
    }
    EXPECT_EQ(svg.texts().front(), one.expression);
  }
}

TEST(Picture, NoTextTouchesAnother) {
  for (const Case& one : cases()) {
    std::vector<TextBox> boxes;
    for (const SvgElement& text : SvgReader(svg_of(one)).all("text")) boxes.push_back(text_box(text));
    for (std::size_t i = 0; i < boxes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        ASSERT_FALSE(boxes[i].touches(boxes[j]))
            << one.expression << ": '" << boxes[i].text << "' and '" << boxes[j].text << "'";
  }
}

TEST(Picture, TextInCellsFitsThem) {
  for (const Case& one : cases()) {
    const SvgReader svg(svg_of(one));
    std::vector<TextBox> boxes;
    for (const SvgElement& text : svg.all("text")) boxes.push_back(text_box(text));
    std::size_t inside = 0;
    for (const SvgElement& rect : svg.all("rect", "cells")) {
      const double left = rect.number("x"), right = left + rect.number("width");
      const double top = rect.number("y"), bottom = top + rect.number("height");
      for (const TextBox& box : boxes) {
        const double x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
        if (x < left || x > right || y < top || y > bottom) continue;
        ++inside;
        ASSERT_TRUE(box.left >= left && box.right <= right && box.top >= top && box.bottom <= bottom)
            << one.expression << ": " << box.text;
      }
    }
    EXPECT_GT(inside, 0u);
  }
}

TEST(Picture, TheSameValueGivesTheSameBytes) {
  for (const Case& one : cases()) EXPECT_EQ(svg_of(one), svg_of(one));
}

TEST(Picture, CellsShowTheirIndices) {
  const SvgReader svg(svg_of({"(4,3):(10,1)", "", ""}));
  EXPECT_EQ(svg.cells(), 12u);
  EXPECT_THAT(svg.texts(), IsSupersetOf({"0", "10", "20", "30", "1", "31", "2", "12", "32"}));
  EXPECT_THAT(svg_of({"(4,3):(10,1)", "", ""}), HasSubstr("<title>(3,2) -&gt; 32</title>"));
}

TEST(Picture, CellsOfATileShowThreadAndValue) {
  const SvgReader svg(svg_of({"make_layout_tv((4,8):(8,1),(2,4):(4,1))", "", ""}));
  EXPECT_EQ(svg.cells(), 256u);
  std::map<std::string, int> seen;
  for (const std::string& text : svg.texts()) ++seen[text];
  EXPECT_EQ(seen["T31"], 8);
  EXPECT_EQ(seen["V7"], 32);
  EXPECT_THAT(svg.texts(), Contains("32 threads (T) with 8 values (V) each over a tile of (8,32)."));
}

TEST(Picture, SharedAndUnusedElementsOfATileAreMarked) {
  const SvgReader svg(svg_of({"((4,8),2):((0,1),8)", "", "(8,3)"}));
  EXPECT_EQ(svg.cells(), 24u);
  EXPECT_THAT(svg.texts(), IsSupersetOf({"T0+", "V1", "Empty cells belong to no thread."}));
}

TEST(Picture, SwizzledCellsShowBanks) {
  const SvgReader svg(svg_of({"Sw<3,3,3> o 0 o (8,64):(64,1)", "", ""}));
  EXPECT_EQ(svg.cells(), 512u);
  std::map<std::string, int> seen;
  for (const std::string& text : svg.texts()) ++seen[text];
  for (int bank = 0; bank < kBanks; ++bank) EXPECT_EQ(seen["b" + std::to_string(bank)], 16) << bank;
  EXPECT_THAT(svg.texts(), Contains(HasSubstr("for elements of 2 bytes: index / 2 % 32")));
  const SvgReader words(svg_of({"Sw<3,2,3> o 0 o (8,32):(32,1)", "", ""}));
  EXPECT_THAT(words.texts(), Contains(HasSubstr("for elements of 4 bytes: index % 32")));
}

TEST(Picture, APartIsDrawnWhereItBegins) {
  const SvgReader svg(svg_of({"local_tile((64,100):(100,1), (2,4), (3,2))", "", ""}));
  EXPECT_EQ(svg.cells(), 8u);
  EXPECT_THAT(svg.texts(), IsSupersetOf({"608", "711", "= 608 + (2,4):(100,1)"}));
  EXPECT_THAT(svg.texts(), Not(Contains(HasSubstr("bank"))));
  const auto sectors = [](const char* expression) {
    PictureOptions options;
    options.access = AccessRequest{.type = parse_access("f32"), .space = Space::global, .is_load = true};
    const Bindings bindings = {{"A", evaluate("(2,35):(33,1)")}};
    return access_of(evaluate(expression, bindings), options).global->sectors.size();
  };
  EXPECT_EQ(sectors("local_tile(256:1, 32, 1)"), 4u);
  EXPECT_EQ(sectors("A(0,_)"), 4u);
  EXPECT_EQ(sectors("A(1,_)"), 5u) << "begins between two sectors";
}

TEST(Picture, LayoutsAndSwizzlesInARowAreDrawn) {
  const SvgReader banks(svg_of({"(512,2):(1,512) o 64 o Sw<3,3,3> o 0 o (8,64):(64,1)", "", ""}));
  EXPECT_EQ(banks.cells(), 512u);
  EXPECT_THAT(banks.texts(), IsSupersetOf({"64", "575", "b0", "b31"}));
  EXPECT_THAT(banks.texts(), Contains(HasSubstr("for elements of 2 bytes: index / 2 % 32")));
  const SvgReader plain(svg_of({"64:2 o 1 o (2,4):(4,1)", "", ""}));
  EXPECT_THAT(plain.texts(), IsSupersetOf({"2", "16", "64:2 o 1 o (2,4):(4,1)"}));
  EXPECT_THAT(plain.texts(), Not(Contains(HasSubstr("bank"))));
  const SvgReader part(svg_of({"local_tile(Sw<2,0,2> o 0 o (8,8):(1,8), (8,2), (0,3))", "", ""}));
  EXPECT_THAT(part.texts(), Contains("= 48 + Sw<2,0,2> o 0 o (8,2):(1,8)"));
  EXPECT_THAT(part.texts(), IsSupersetOf({"48", "63"})) << "with where it begins";
}

TEST(Picture, AnAccessIsExplainedUnderIt) {
  const Picture picture = draw(evaluate("(8,32):(32,1)"), options_of({"(8,32):(32,1)", "f32x4", ""}));
  ASSERT_TRUE(picture.access.has_value());
  EXPECT_EQ(picture.access->shared->wavefronts, 32);
  const SvgReader svg(picture.svg);
  EXPECT_THAT(svg.texts(),
              IsSupersetOf({"T0-7", "T24-31", "8 wavefronts", "Red: threads that wait for bank 0."}));
  EXPECT_THAT(svg.texts(), Contains(HasSubstr("8-way bank conflict: 32 wavefronts instead of 4.")));
  EXPECT_EQ(access_of(evaluate("(8,32):(32,1)"), options_of({"", "f32x4", ""})).sentence,
            picture.access->sentence);
}

TEST(Picture, LargeOnesKeepTheirTextUpTo128) {
  const SvgReader svg(svg_of({"make_layout_tv((16,8):(8,1),(8,16):(16,1))", "", ""}));
  EXPECT_EQ(svg.cells(), 128u * 128u);
  EXPECT_THAT(svg.texts(), IsSupersetOf({"T127", "V127"}));
  const SvgReader larger(svg_of({"(129,129):(129,1)", "", ""}));
  EXPECT_EQ(larger.cells(), 129u * 129u);
  EXPECT_THAT(larger.texts(), Contains(HasSubstr("Text in cells is left out")));
  EXPECT_THAT(larger.texts(), Not(Contains("200")));
}

TEST(Picture, MarkupInTitlesIsEscaped) {
  PictureOptions options;
  options.title = "Sw<1,2,3> & \"x\" \x01";
  const SvgReader svg(draw(evaluate("4:1"), options).svg);
  EXPECT_EQ(svg.texts().front(), "Sw<1,2,3> & \"x\"  ");
}

TEST(Picture, LongTitlesAreBroken) {
  PictureOptions options;
  options.title = "composition(" + std::string(300, 'a') + ", " + std::string(300, 'W') + ")";
  const SvgReader svg(draw(evaluate("4:1"), options).svg);
  const double width = svg.all("svg")[0].number("width");
  for (const SvgElement& text : svg.all("text")) EXPECT_LE(text_box(text).right, width) << text.text;
}

TEST(Picture, WhatCannotBeDrawnIsRefused) {
  EXPECT_THAT(complaint({"(M,8):(8,1)", "", ""}),
              HasSubstr("has unknown sizes; bind their names to numbers"));
  EXPECT_THAT(complaint({"(4,8):(M,1)", "", ""}), HasSubstr("unknown; bind its names"));
  EXPECT_THAT(complaint({"(1024,1024)", "", ""}), HasSubstr("can be drawn, not (1024,1024)"));
  EXPECT_THAT(complaint({"(1024,1024):(1,1024)", "", ""}), HasSubstr("1048576 elements, more than 65536"));
  EXPECT_THAT(complaint({"(4294967296,4294967296):(1,1)", "", ""}), Not(HasSubstr("nothing")));
  EXPECT_THAT(complaint({"(2,2):(4611686018427387904,1)", "", ""}), HasSubstr("too far away"));
  EXPECT_THAT(complaint({"Sw<3,3,3>", "", ""}), HasSubstr("can be drawn, not Sw<3,3,3>"));
  EXPECT_THAT(complaint({"16:1 o -1 o Sw<1,1,3>", "", ""}),
              HasSubstr("a layout with a shape or (tiler, tv) can be drawn, not 16:1 o -1 o Sw<1,1,3>"));
  EXPECT_THAT(complaint({"16:1 o ? o Sw<1,1,3> o 0 o 8:1", "", ""}), HasSubstr("unknown; bind its names"));
  EXPECT_THAT(complaint({"(0,4):(1,1)", "", ""}), HasSubstr("no elements"));
  EXPECT_THAT(complaint({"32:1", "", "(32)"}), HasSubstr("no layout of (thread,value)"));
  EXPECT_THAT(complaint({"(32,2):(1,32)", "", "(32)"}), HasSubstr("outside of the tile (32)"));
  EXPECT_THAT(complaint({"(M,2):(1,M)", "", "(32)"}), HasSubstr("unknown"));
  EXPECT_THAT(complaint({"(32,2):(1,32)", "", "(?)"}), HasSubstr("unknown"));
}

TEST(Colours, TextCanBeReadOnAllOfThem) {
  std::set<std::string> texts;
  for (int i = 0; i <= 1000; ++i) {
    EXPECT_GE(contrast(ramp(i, 1000), text_on(ramp(i, 1000))), 4.5) << i;
    texts.insert(to_text(text_on(ramp(i, 1000))));
  }
  EXPECT_EQ(texts.size(), 2u) << "black and white; a third colour looks like bold numbers";
  for (int bank = 0; bank < kBanks; ++bank)
    EXPECT_GE(contrast(bank_colour(bank), text_on(bank_colour(bank))), 7);
  for (int i = 0; i < kHues; ++i) EXPECT_GE(contrast(thread_colour(i), text_on(thread_colour(i))), 7);
  EXPECT_GE(contrast(kIdleCell, kQuietInk), 4.5);
  EXPECT_GE(contrast(kPaper, kQuietInk), 4.5);
  EXPECT_GE(contrast(kPaper, kAlarm), 4.5);
}

TEST(Colours, LightnessFallsWithTheIndex) {
  for (int i = 1; i <= 200; ++i)
    EXPECT_GE(contrast(ramp(i, 200), kPaper), contrast(ramp(i - 1, 200), kPaper)) << i;
}

TEST(Colours, NeighbouringThreadsDiffer) {
  for (int apart : {1, 2, 4, 8, 16, 32, 64, 128, 256})
    for (int thread = 0; thread + apart < 1024; ++thread)
      EXPECT_NE(thread_colour(thread), thread_colour(thread + apart)) << thread << " and " << thread + apart;
}

TEST(Colours, BanksAllDiffer) {
  for (int a = 0; a < kBanks; ++a)
    for (int b = 0; b < a; ++b) EXPECT_NE(bank_colour(a), bank_colour(b));
}

}  // namespace
}  // namespace gpuforge::layout
