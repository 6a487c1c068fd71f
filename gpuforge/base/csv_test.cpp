#include "gpuforge/base/csv.h"

#include <gtest/gtest.h>

#include <random>

namespace gpuforge {
namespace {

using Rows = std::vector<CsvRow>;

TEST(Csv, FieldsQuotesAndLineEnds) {
  EXPECT_EQ(parse_csv("a,b\nc,d\n").rows, (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(parse_csv("a,b\r\nc,").rows, (Rows{{"a", "b"}, {"c", ""}}));
  EXPECT_EQ(parse_csv("\"1,024\",\"say \"\"hi\"\"\",\"two\nlines\"").rows,
            (Rows{{"1,024", "say \"hi\"", "two\nlines"}}));
  EXPECT_EQ(parse_csv("\n\r\n,\n\"\"\n").rows, (Rows{{"", ""}, {""}}));
  EXPECT_TRUE(parse_csv("").rows.empty());
}

TEST(Csv, OddQuotesAreTakenAsTheyAre) {
  EXPECT_EQ(parse_csv("a\"b,\"c\"d").rows, (Rows{{"a\"b", "cd"}}));
  EXPECT_EQ(parse_csv("a\rb,c\r").rows, (Rows{{"a\rb", "c"}}));
}

TEST(Csv, SaysWhenItEndsInsideQuotes) {
  EXPECT_FALSE(parse_csv("a,\"b\"").cut_off);
  const CsvTable table = parse_csv("a,b\nc,\"d");
  EXPECT_TRUE(table.cut_off);
  EXPECT_EQ(table.rows, (Rows{{"a", "b"}, {"c", "d"}}));
}

std::string random_text(std::mt19937& random, std::size_t most) {
  constexpr std::string_view kLetters = "ab1 ,\"\r\n\t;\xff";
  std::string text(random() % (most + 1), ' ');
  for (char& c : text) c = kLetters[random() % kLetters.size()];
  return text;
}

TEST(Csv, WhatIsWrittenIsReadBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Rows rows(1 + random() % 4);
    std::string text;
    for (CsvRow& row : rows) {
      row.resize(1 + random() % 5);
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = random_text(random, 8);
        text += (i > 0 ? "," : "") + csv_field(row[i]);
      }
      text += round % 2 == 0 ? "\n" : "\r\n";
    }
    const CsvTable table = parse_csv(text);
    ASSERT_EQ(table.rows, rows) << text;
    ASSERT_FALSE(table.cut_off);
  }
}

// Any bytes give rows: no crash, no field lost or made up. Without quotes and returns, the commas and lines
// say how many.
TEST(Csv, AnyBytesAreRead) {
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    std::string text = random_text(random, 60);
    const CsvTable table = parse_csv(text);
    std::size_t characters = 0;
    for (const CsvRow& row : table.rows) {
      ASSERT_FALSE(row.empty());
      for (const std::string& field : row) characters += field.size();
    }
    ASSERT_LE(characters, text.size());
    if (text.find_first_of("\"\r") != std::string::npos) continue;
    std::size_t lines = 0, commas = 0, fields = 0, blank = 0;
    for (std::size_t at = 0; at < text.size(); ++lines) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      blank += end == at;
      for (std::size_t i = at; i < end; ++i) commas += text[i] == ',';
      at = end + 1;
    }
    for (const CsvRow& row : table.rows) fields += row.size();
    ASSERT_EQ(table.rows.size(), lines - blank) << text;
    ASSERT_EQ(fields, commas + lines - blank) << text;
  }
}

}  // namespace
}  // namespace gpuforge
