#include "gpuforge/jit/include_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace gpuforge::jit {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "x.h" with quotes, <x.h> with angles, X for a macro.
std::vector<std::string> includes(std::string_view text) {
  std::vector<std::string> found;
  for (const IncludeDirective& include : scan_includes(text)) {
    std::string shown = include.next ? "next " : "";
    switch (include.form) {
      case IncludeDirective::Form::quotes:
        shown += "\"" + include.name + "\"";
        break;
      case IncludeDirective::Form::angles:
        shown += "<" + include.name + ">";
        break;
      case IncludeDirective::Form::computed:
        shown += include.name;
        break;
    }
    found.push_back(shown);
  }
  return found;
}

TEST(IncludeScanner, FindsEveryForm) {
  EXPECT_THAT(includes("#include \"a.h\"\n#include <b/c.h>\n"), ElementsAre("\"a.h\"", "<b/c.h>"));
  EXPECT_THAT(includes("  \t# \t include\t<a.h>"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes("#include<a>\n#include\"b\""), ElementsAre("<a>", "\"b\""));
  EXPECT_THAT(includes("%:include <a.h>"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes("#include HEADER\n#include CAT(a, b)\n"), ElementsAre("HEADER", "CAT"));
  EXPECT_THAT(includes("#include_next <a.h>"), ElementsAre("next <a.h>"));
  EXPECT_THAT(includes("#include <a.h> // why\r\n#include \"b.h\" /* x */\r\n"),
              ElementsAre("<a.h>", "\"b.h\""));
  EXPECT_THAT(includes("\f\v#include <a.h>"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes("#include \"with space.h\"\n#include \"../up/a.h\""),
              ElementsAre("\"with space.h\"", "\"../up/a.h\""));
}

TEST(IncludeScanner, GathersInactiveBranches) {
  EXPECT_THAT(includes("#if 0\n#include <a.h>\nit's text\n#else\n#include <b.h>\n#endif\n"),
              ElementsAre("<a.h>", "<b.h>"));
  EXPECT_THAT(includes("#error don't\n#include <a.h>\n"), ElementsAre("<a.h>"));
}

TEST(IncludeScanner, KnowsComments) {
  EXPECT_THAT(includes("// #include <a.h>\n/*\n#include <b.h>\n*/\n/* x */ #include <c.h>\n"),
              ElementsAre("<c.h>"));
  EXPECT_THAT(includes("# /* a */ include /* b\n */ <c.h>\n"), ElementsAre("<c.h>"));
  EXPECT_THAT(includes("int a; /* starts\n#include <a.h>\nends */ int b;\n#include <b.h>"),
              ElementsAre("<b.h>"));
  EXPECT_THAT(includes("/**/#include <a.h>\n/*/ #include <no.h>\n*/\n/***/\n#include <b.h>"),
              ElementsAre("<a.h>", "<b.h>"));
  EXPECT_THAT(includes("// continued \\\n#include <a.h>\n// and \\\r\n#include <b.h>\n#include <c.h>"),
              ElementsAre("<c.h>"));
  EXPECT_THAT(includes("// slash at the end \\ \n#include <a.h>"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes("x = a / b; // *\n#include <a.h>"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes("#include <a//b.h>\n#include \"c/*d.h\"\n#include <e.h>"),
              ElementsAre("<a//b.h>", "\"c/*d.h\"", "<e.h>"));
}

TEST(IncludeScanner, JoinsContinuedLines) {
  EXPECT_THAT(includes("#inc\\\nlude <a.h>"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes("#\\\r\ninclude \\\n \"a\\\n.h\""), ElementsAre("\"a.h\""));
  EXPECT_THAT(includes("#define X \\\n#include <a.h>\n#include <b.h>"), ElementsAre("<b.h>"));
  EXPECT_THAT(includes("\\\n\\\n#include <a.h>"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes("/\\\n* #include <a.h> *\\\n/ \n#include <b.h>"), ElementsAre("<b.h>"));
}

TEST(IncludeScanner, KnowsLiterals) {
  EXPECT_THAT(includes("a = \"/*\";\n#include <a.h>\nb = \"*/\";"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes("a = \"\\\"//\"; /*\n#include <a.h>\n*/"), IsEmpty());
  EXPECT_THAT(includes("a = '\"'; b = '\\''; /*\n#include <a.h>\n*/"), IsEmpty());
  EXPECT_THAT(includes("a = u'\"'; /*\n#include <a.h>\n*/"), IsEmpty());
  EXPECT_THAT(includes("a = 1'000'000; /*\n#include <a.h>\n*/"), IsEmpty());
  EXPECT_THAT(includes("a = \"unfinished\n#include <a.h>"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes("a = \"over \\\n#include <a.h>\";\n#include <b.h>"), ElementsAre("<b.h>"));
}

TEST(IncludeScanner, KnowsRawStrings) {
  EXPECT_THAT(includes("a = R\"(\n#include <a.h>\n)\";\n#include <b.h>"), ElementsAre("<b.h>"));
  EXPECT_THAT(includes("a = u8R\"x(\n)\" )y\"\n#include <a.h>\n)x\";\n#include <b.h>"), ElementsAre("<b.h>"));
  EXPECT_THAT(includes("a = FOR\"(\";\n#include <a.h>"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes("a = R\"(never closed\n#include <a.h>"), IsEmpty());
  EXPECT_THAT(includes("a = R\"(\\\n)\";\n#include <a.h>"), ElementsAre("<a.h>"));
  // A delimiter over 16 characters is no raw string.
  EXPECT_THAT(includes("a = R\"12345678901234567(\n#include <a.h>"), ElementsAre("<a.h>"));
}

TEST(IncludeScanner, LeavesOtherDirectivesAlone) {
  EXPECT_THAT(includes("#define include <a.h>\n#includes <a.h>\n#pragma include <a.h>\n#\n##include <a.h>\n"),
              IsEmpty());
  EXPECT_THAT(includes("int x; #include <a.h>\nx #include <b.h>\n"), IsEmpty());
  EXPECT_THAT(
      includes("#include\n#include \"\"\n#include <>\n#include <a.h\n#include \"b.h\n#include 'c'\n#include"),
      IsEmpty());
  EXPECT_THAT(includes(""), IsEmpty());
  EXPECT_THAT(includes("#"), IsEmpty());
  EXPECT_THAT(includes("\\"), IsEmpty());
  EXPECT_THAT(includes("/"), IsEmpty());
  EXPECT_THAT(includes("/*"), IsEmpty());
  EXPECT_THAT(includes("#include <"), IsEmpty());
  EXPECT_THAT(includes("R\""), IsEmpty());
  EXPECT_THAT(includes("'\\"), IsEmpty());
}

TEST(IncludeScanner, TakesAnyBytes) {
  std::string binary =
      "\x7f"
      "ELF";
  for (int i = 0; i < 256; ++i) binary += static_cast<char>(i);
  EXPECT_THAT(includes(binary + "\n#include <a.h>\n"), ElementsAre("<a.h>"));
}

// Seeded mutations of a text with everything in it: any result is fine, but it ends, reads nothing outside
// the text (the sanitizers watch) and finds only names that are in the text.
TEST(IncludeScanner, SurvivesMutations) {
  const std::string seed =
      "// c \\\n#include <no>\n/* x */ # include <a.h>\n#if 0\nR\"d(\n#include <no>\n)d\" "
      "u8R\"(x)\"\n#endif\n"
      "#inc\\\r\nlude \"b.h\"\nconst char* s = \"\\\"/*\"; int n = 1'000; char c = '\\'';\n%:include "
      "M\n#include_next <n>\n";
  const std::string_view alphabet = "#include<>\"'\\\n\r/*R()%: \tax\0u8";
  std::mt19937 random(20260101);
  const auto pick = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  for (int round = 0; round < 5000; ++round) {
    std::string text = seed;
    for (std::size_t edit = 0, edits = 1 + pick(8); edit < edits && !text.empty(); ++edit) {
      const std::size_t at = pick(text.size());
      switch (pick(4)) {
        case 0:
          text[at] = alphabet[pick(alphabet.size())];
          break;
        case 1:
          text.erase(at, 1 + pick(12));
          break;
        case 2:
          text.insert(at, 1, alphabet[pick(alphabet.size())]);
          break;
        default:
          text.resize(at);
          break;
      }
    }
    const std::string exact(text);  // no slack behind the end
    std::string joined;             // without continuations, where every name must be
    for (std::size_t at = 0; at < exact.size(); ++at) {
      if (exact.compare(at, 2, "\\\n") == 0) {
        at += 1;
      } else if (exact.compare(at, 3, "\\\r\n") == 0) {
        at += 2;
      } else {
        joined += exact[at];
      }
    }
    for (const IncludeDirective& include : scan_includes(exact)) {
      ASSERT_FALSE(include.name.empty());
      ASSERT_NE(joined.find(include.name), std::string::npos) << exact;
    }
  }
}

// Time grows with the size, not with its square.
TEST(IncludeScanner, IsLinear) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "/* ' \" R\"( */ x = 'a' / 2; \"\\\\\" \\\n";
  EXPECT_THAT(includes(text + "\n#include <a.h>"), ElementsAre("<a.h>"));
  EXPECT_THAT(includes(std::string(400000, '\\')), IsEmpty());
  EXPECT_THAT(includes(std::string(400000, '/')), IsEmpty());
  EXPECT_THAT(includes(std::string(400000, '"')), IsEmpty());
  EXPECT_THAT(includes("/*" + std::string(400000, '*')), IsEmpty());
  std::string raw;
  for (int i = 0; i < 50000; ++i) raw += "R\"x(";
  EXPECT_THAT(includes(raw), IsEmpty());
}

}  // namespace
}  // namespace gpuforge::jit
