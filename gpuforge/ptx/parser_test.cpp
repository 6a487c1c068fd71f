#include "gpuforge/ptx/parser.h"

#include <gtest/gtest.h>

#include "gpuforge/base/error.h"
#include "gpuforge/ptx/printer.h"

namespace gpuforge::ptx {
namespace {

constexpr std::string_view kHead = ".version 8.5\n.target sm_90a, debug\n.address_size 64\n";

Module parse_body(std::string_view body) {
  return parse(format_text("{}.visible .entry k() {{\n{}\n}}\n", kHead, body), "test.ptx");
}

const Instruction& first_instruction(const Module& module) {
  for (const Statement& statement : module.functions.at(0).body->statements)
    if (const auto* found = std::get_if<Instruction>(&statement)) return *found;
  throw std::runtime_error("no instruction");
}

std::string printed(std::string_view instruction) {
  const Module module = parse_body(instruction);
  return print(first_instruction(module));
}

std::string failure(std::string_view text) {
  try {
    parse(std::string(text), "test.ptx");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return error.what();
  }
  return "no error";
}

TEST(Parser, HeadAndFiles) {
  const Module module =
      parse(std::string(kHead) + ".file 1 \"a b.cu\", 12, 34\n.section .debug_x { .b8 1, 2 }\n", "x");
  EXPECT_EQ(module.version_major, 8);
  EXPECT_EQ(module.version_minor, 5);
  ASSERT_EQ(module.targets.size(), 2u);
  EXPECT_EQ(module.targets[1], "debug");
  ASSERT_EQ(module.files.size(), 1u);
  EXPECT_EQ(module.files[0].name, "a b.cu");
}

TEST(Parser, OperandsOfEveryKindPrintAsTheyStand) {
  for (const std::string_view text :
       {"ret;", "@%p1 bra $L__BB0_2;", "@!%p1 bra.uni done;", "mov.u32 %r3, %ctaid.x;",
        "ld.global.v4.f32 {%f1, %f2, _, %f4}, [%rd5+16];", "st.shared.u32 [sdata-4], -7;",
        "ld.global.u8 %rs1, [4096];", "setp.lt.and.f32 %p1|%p2, %f1, 0f3F800000, !%p3;",
        "mov.u64 %rd5, table+8;", "fma.rn.f64 %d1, %d2, %d3, 0d3FF0000000000000;",
        "call.uni (retval0), func, (param0, param1);", "call (_), %rd1, (), prototype_0;",
        "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, "
        "{%r2, %r3}], [%r4];",
        "mov.b64 {%r1, %r2}, %rd1;", "and.b32 %r1, %r2, 255U;"}) {
    EXPECT_EQ(printed(text), text);
  }
}

TEST(Parser, ConstantExpressionsAreFolded) {
  EXPECT_EQ(printed("mov.u32 %r1, (1 << 4) | 3;"), "mov.u32 %r1, 19;");
  EXPECT_EQ(printed("mov.u64 %d1, (.s64)-1 < 0 ? 5 : 6;"), "mov.u64 %d1, 5;");
  EXPECT_EQ(printed("mov.u64 %d1, (.u64)-1 < 0 ? 5 : 6;"), "mov.u64 %d1, 6;");
  EXPECT_EQ(printed("mov.u32 %r1, -(2 + 3) * 4;"), "mov.u32 %r1, -20;");
  EXPECT_EQ(printed("mov.u32 %r1, ~0;"), "mov.u32 %r1, -1;");
  EXPECT_EQ(printed("mov.u32 %r1, WARP_SZ;"), "mov.u32 %r1, 32;");
  EXPECT_EQ(printed("add.f32 %f1, %f2, -0f3F800000;"), "add.f32 %f1, %f2, 0fBF800000;");
  EXPECT_EQ(printed("ld.global.u32 %r1, [%rd1+-4];"), "ld.global.u32 %r1, [%rd1-4];");
}

TEST(Parser, VariablesWithInitialisersAndAttributes) {
  const Module module = parse(std::string(kHead) +
                                  ".visible .global .align 4 .b8 table[12] = {1, 0xff, 3};\n"
                                  ".global .u64 pointer = generic(table)+4;\n"
                                  ".const .f32 values[2][2] = {{0f3F800000, 1.5}, {0, 2}};\n"
                                  ".extern .shared .align 16 .b8 dynamic[];\n"
                                  ".global .attribute(.managed) .u32 m;\n"
                                  ".global .b8 parts[2] = {0xff(table), 0xff00(table)};\n",
                              "x");
  ASSERT_EQ(module.variables.size(), 6u);
  EXPECT_EQ(module.variables[0].extents, std::vector<std::int64_t>{12});
  const auto& pointer = std::get<SymbolValue>(module.variables[1].initializer.at(0).value);
  EXPECT_EQ(pointer.symbol, "table");
  EXPECT_TRUE(pointer.generic);
  EXPECT_EQ(pointer.offset, 4);
  EXPECT_EQ(module.variables[3].extents, std::vector<std::int64_t>{-1});
  EXPECT_EQ(module.variables[3].linkage, Linkage::external);
  EXPECT_EQ(module.variables[4].attributes.at(0), "managed");
  const auto& parts = std::get<std::vector<Initializer>>(module.variables[5].initializer.at(0).value);
  EXPECT_EQ(std::get<SymbolValue>(parts.at(1).value).mask, 0xff00u);
}

TEST(Parser, FunctionsWithParametersAndDirectives) {
  const Module module =
      parse(std::string(kHead) +
                ".func (.param .b32 r) f(.param .align 8 .b8 s[24], .reg .u32 x) .noreturn;\n"
                ".weak .entry g(.param .u64 .ptr .global .align 16 p)\n"
                ".maxntid 256, 1, 1\n.minnctapersm 2\n{ ret; }\n",
            "x");
  ASSERT_EQ(module.functions.size(), 2u);
  EXPECT_EQ(module.functions[0].body, nullptr);
  EXPECT_EQ(module.functions[0].parameters.at(0).extents.at(0), 24);
  EXPECT_EQ(module.functions[0].parameters.at(1).space, Space::reg);
  const Function& entry = module.functions[1];
  EXPECT_TRUE(entry.entry);
  EXPECT_EQ(entry.linkage, Linkage::weak);
  EXPECT_EQ(entry.parameters.at(0).pointer_space, Space::global);
  EXPECT_EQ(entry.parameters.at(0).pointer_alignment, 16u);
  ASSERT_EQ(entry.directives.size(), 2u);
  EXPECT_EQ(entry.directives[0].words.size(), 3u);
}

// middle() is called at line 12 and calls inner() at lines 5 and 6.
TEST(Parser, InlinedLinesKnowTheirCalls) {
  const Module module = parse(
      ".version 8.5\n.target sm_80\n.address_size 64\n.entry k()\n{\n"
      ".loc 1 12 3\n.loc 1 5 3, function_name $L1, inlined_at 1 12 3\n"
      ".loc 1 2 3, function_name $L0+3, inlined_at 1 5 3\nret;\n"
      ".loc 1 6 3, function_name $L1, inlined_at 1 12 3\n"
      ".loc 1 2 3, function_name $L0+3, inlined_at 1 6 3\nret;\n"
      ".loc 1 12 3\nret;\n}\n.entry other()\n{\n.loc 1 2 3, function_name $L0+3, inlined_at 1 5 3\nret;\n}\n"
      ".section .debug_str\n{\n$L0:\n.b8 97,98,0,105,110,0\n$L1:\n.b8 109\n.b8 0\n}\n",
      "x");
  const auto chain = [&](std::size_t function, std::size_t instruction) {
    std::string text;
    SourceLine line =
        std::get<Instruction>(module.functions.at(function).body->statements.at(instruction)).source;
    for (; line.inlining != 0; line = module.inlinings.at(line.inlining - 1).call) {
      const Inlining& inlining = module.inlinings[line.inlining - 1];
      text += format_text("{}@{} ", function_name(module, inlining), inlining.call.line);
    }
    return text;
  };
  EXPECT_EQ(chain(0, 0), "in@5 m@12 ");
  EXPECT_EQ(chain(0, 1), "in@6 m@12 ");
  EXPECT_EQ(chain(0, 2), "");
  EXPECT_EQ(chain(1, 0), "in@5 ") << "calls of another function are not its own";
  EXPECT_EQ(module.inlinings.size(), 4u) << "each once";
  EXPECT_EQ(print(parse(print(module), "again")), print(module));
}

TEST(Parser, InliningThatGoesInCirclesEnds) {
  std::string body;
  for (int i = 0; i < 1000; ++i) body += ".loc 1 5 3, function_name $L, inlined_at 1 5 3\nret;\n";
  const Module module = parse_body(body);
  const std::string text = print(module);
  EXPECT_EQ(print(parse(text, "again")), text);
  EXPECT_LT(text.size(), 10'000'000u);
}

TEST(Parser, StatementsScopesAndSourceLines) {
  const Module module = parse_body(
      ".reg .b32 %r<17>;\n.loc 1 7 3\n{ .reg .pred p; @p bra L; L: }\n.loc 1 9 1, function_name $n, "
      "inlined_at 1 2 3\nret;\n"
      "targets: .branchtargets A, B;\nproto: .callprototype (.param .b32 _) _ (.param .b64 _) "
      ".noreturn;\n.pragma \"nounroll\";");
  const auto& statements = module.functions.at(0).body->statements;
  ASSERT_EQ(statements.size(), 6u);
  EXPECT_EQ(std::get<Variable>(statements[0]).range, 17u);
  const auto& inner = *std::get<std::unique_ptr<Block>>(statements[1]);
  ASSERT_EQ(inner.statements.size(), 3u);
  EXPECT_EQ(std::get<Instruction>(inner.statements[1]).source.line, 7u);
  EXPECT_EQ(std::get<Label>(inner.statements[2]).name, "L");
  EXPECT_EQ(std::get<Instruction>(statements[2]).source.line, 9u);
  EXPECT_EQ(std::get<Targets>(statements[3]).targets.size(), 2u);
  EXPECT_TRUE(std::get<Prototype>(statements[4]).noreturn);
  EXPECT_EQ(std::get<Directive>(statements[5]).words.at(0), "\"nounroll\"");
}

TEST(Parser, ErrorsNameTheirPlaceAndWhatWasExpected) {
  EXPECT_EQ(failure(""), "test.ptx:1:1: expected .version first: is this PTX?, found the end of the text");
  EXPECT_EQ(failure("int main() {}"), "test.ptx:1:1: expected .version first: is this PTX?, found 'int'");
  const std::string head(kHead);
  EXPECT_NE(
      failure(head + ".entry k() { mov.u32 %r1 %r2; }").find("test.ptx:4:26: expected ';', found '%r2'"),
      std::string::npos);
  EXPECT_NE(failure(head + ".entry k() { ret;").find("this block is not closed"), std::string::npos);
  EXPECT_NE(failure(head + ".frob x;").find("unknown directive .frob"), std::string::npos);
  EXPECT_NE(failure(head + ".global .u32 x[-1];").find("cannot be negative"), std::string::npos);
  EXPECT_NE(failure(head + ".global .u32 x[1/0];").find("division by zero"), std::string::npos);
}

TEST(Parser, HostileNestingIsRefusedNotFollowed) {
  const std::string head(kHead);
  EXPECT_NE(failure(head + ".entry k() " + std::string(100000, '{')).find("nest deeper"), std::string::npos);
  EXPECT_NE(failure(head + ".entry k() { mov.u32 %r1, " + std::string(100000, '(')).find("too deep"),
            std::string::npos);
  EXPECT_NE(failure(head + ".entry k() { mov.u32 %r1, " + std::string(100000, '{')).find("too deep"),
            std::string::npos);
  EXPECT_NE(failure(head + ".entry k() { mov.u32 %r1, " + std::string(100000, '-')).find("too deep"),
            std::string::npos);
  EXPECT_NE(failure(head + ".global .u32 x[1] = " + std::string(100000, '{')).find("too deep"),
            std::string::npos);
}

TEST(Parser, ConstantExpressionsAreC64BitIntegers) {
  const auto value = [](const std::string& text) {
    const Module module =
        parse(".version 8.0\n.target sm_80\n.address_size 64\n.global .s64 x = " + text + ";\n", "e.ptx");
    const auto& initializer = module.variables.at(0).initializer.at(0);
    return static_cast<std::int64_t>(std::get<Constant>(initializer.value).bits);
  };
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"-7 / 2", -3},
      {"-7 >> 1", -4},
      {"7 >> 70", 0},
      {"1 << 70", 0},
      {"20 % 7 * 2", 12},
      {"5 > 3", 1},
      {"-1 > 0", 0},
      {"-1 > 0U", 1},
      {"3 >= 3", 1},
      {"4 <= 3", 0},
      {"2 == 2 && 1 != 1", 0},
      {"0 || 3", 1},
      {"1 | 6 & 3", 3},
      {"~0 ^ 1", -2},
      {"!0", 1},
      {"!(5)", 0},
      {"2 > 3 ? 11 : 12", 12},
      {"1 ? 0 ? 1 : 2 : 3", 2},
      {"0xFFFFFFFFFFFFFFFF >> 60", 15},
      {"-8 / 3U", 6148914691236517202},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(value(text), expected) << text;
  EXPECT_THROW(value("1 / 0"), Error);
  EXPECT_THROW(value("1 % 0"), Error);
  EXPECT_THROW(value("1 +"), Error);
  EXPECT_THROW(value("1 ? 2"), Error);
}

}  // namespace
}  // namespace gpuforge::ptx
