#include "gpuforge/lab/kernel_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace gpuforge::lab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Stands in for a built-in op: out = x, rank 2, one option.
Op copy_op() {
  Op op;
  op.name = "copy";
  op.variants = {{"best", ""}};
  op.dtypes = {DType::f16, DType::f32};
  op.options = {{"dim", "-1", {}, ""}};
  op.check_problems = {{.shape = {3, 5}}, {.shape = {16, 64}}};
  op.operands = [](const Problem& problem) -> std::vector<Operand> {
    GPUFORGE_CHECK(problem.shape.size() == 2, "copy: two extents were expected");
    return {{"out", Role::output, problem.dtype, problem.shape},
            {"x", Role::input, problem.dtype, problem.shape}};
  };
  return op;
}

Op find_copy(std::string_view name) {
  GPUFORGE_CHECK(name == "copy", "there is no op '{}'; there are copy", name);
  return copy_op();
}

KernelHead parse(std::string_view yaml) {
  return parse_head(Yaml::parse(yaml, "k.cu", 3), find_copy);
}

std::string refusal(std::string_view yaml) {
  try {
    parse(yaml);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse) << error.what();
    return error.message();
  }
  return "nothing was thrown";
}

constexpr std::string_view kOwn = R"(summary: y = a x + y
operands:
  x: in T [M, N]
  y: inout T [M, N]
  bias: {role: in, dtype: f32, shape: [N], centre: 1}
  index: in i32 [ceil_div(N, 4), 2]
kernel: saxpy<{T}, {BLOCK}>
parameters: [y, x, bias, index, M * N, min(M, N), a: f32 = 1 / N]
grid: [ceil_div(M * N, BLOCK), 1]
block: BLOCK
shared: BLOCK * sizeof(T)
dtypes: [f32, f16]
tunables:
  BLOCK: [64, 128]
  UNROLL: [1, 2, 4]
requires:
  - N % 4 == 0
  - BLOCK * UNROLL <= 256
tolerance: {f16: {relative: 1e-2}, f32: exact}
cost: {read: 2 * M * N * sizeof(T), flops: 2 * M * N}
check_shapes: [4x8, [2, 64]]
contents: [zeros, huge]
deterministic: false
reference: {kernel: slow, grid: 1, block: 1, parameters: [y, x, M, N]}
)";

constexpr std::string_view kOfOp = R"(op: copy
options: {dim: 0}
symbols: [M, N]
kernel: copy
parameters: [out, x, M, N]
grid: M
block: 256
)";

std::string without(std::string_view text, std::string_view line_start) {
  std::string all(text);
  const std::size_t at = all.find(line_start);
  EXPECT_NE(at, std::string::npos) << line_start;
  return all.erase(at, all.find('\n', at) + 1 - at);
}

std::string with(std::string_view text, std::string_view old, std::string_view other) {
  std::string all(text);
  EXPECT_NE(all.find(old), std::string::npos) << old;
  return all.replace(all.find(old), old.size(), other);
}

TEST(KernelHead, OwnOperands) {
  const KernelHead head = parse(kOwn);
  EXPECT_EQ(head.summary, "y = a x + y");
  EXPECT_THAT(head.symbols, ElementsAre("M", "N"));
  ASSERT_EQ(head.operands.size(), 4u);
  EXPECT_EQ(head.operands[1].role, Role::inout);
  EXPECT_FALSE(head.operands[0].dtype.has_value());
  EXPECT_EQ(head.operands[2].dtype, DType::f32);
  EXPECT_EQ(head.operands[2].centre, 1);
  EXPECT_EQ(head.operands[3].shape[0].text(), "ceil_div(N, 4)");
  EXPECT_EQ(head.launch.kernel, "saxpy<{T}, {BLOCK}>");
  ASSERT_EQ(head.launch.parameters.size(), 7u);
  EXPECT_FALSE(head.launch.parameters[0].value.has_value());
  EXPECT_EQ(head.launch.parameters[5].value->text(), "min(M, N)");
  EXPECT_EQ(head.launch.parameters[6].type, "f32");
  EXPECT_EQ(head.launch.parameters[6].value->number({{"N", std::int64_t{4}}}), 0.25);
  EXPECT_EQ(head.launch.grid.size(), 2u);
  EXPECT_THAT(head.tunables[1].values, ElementsAre(1, 2, 4));
  EXPECT_EQ(head.conditions.size(), 2u);
  EXPECT_EQ(head.tolerances.at(DType::f16).relative, 1e-2);
  EXPECT_EQ(head.tolerances.at(DType::f32).relative, 0);
  EXPECT_THAT(head.check_shapes, ElementsAre(Shape{4, 8}, Shape{2, 64}));
  EXPECT_FALSE(*head.deterministic);
  EXPECT_EQ(head.reference_kernel->launch.parameters.size(), 4u);
}

TEST(KernelHead, OfABuiltInOp) {
  const KernelHead head = parse(kOfOp);
  EXPECT_EQ(head.op->name, "copy");
  EXPECT_EQ(head.options.at("dim"), "0");
  EXPECT_THAT(head.dtypes, ElementsAre(DType::f16, DType::f32));
  EXPECT_FALSE(head.reference_kernel.has_value());
}

TEST(KernelHead, PythonReference) {
  const std::string text =
      without(kOwn, "reference:") + "reference: {python: ref.py:f, arrays: lists, seconds: 5}\n";
  const KernelHead head = parse(text);
  EXPECT_EQ(head.python->file, "ref.py");
  EXPECT_EQ(head.python->function, "f");
  EXPECT_TRUE(head.python->lists);
  EXPECT_EQ(head.python->seconds, 5);
}

TEST(KernelHead, WhatIsWrongIsSaidWithFileAndLine) {
  EXPECT_EQ(refusal(with(kOwn, "BLOCK: [64, 128]", "BLOCK: [64, many]")),
            "k.cu:16: expected a whole number; found 'many'");
  EXPECT_THAT(refusal(with(kOwn, "kernel:", "kernl:")), StartsWith("k.cu:9: "));
  EXPECT_THAT(refusal(with(kOwn, "kernel:", "kernl:")), HasSubstr("kernel"));
  EXPECT_THAT(refusal(without(kOwn, "kernel:")), HasSubstr("kernel"));
  EXPECT_THAT(refusal(without(kOwn, "block:")), HasSubstr("block"));
  EXPECT_EQ(refusal(with(kOwn, "block: BLOCK", "block: BLOKC")),
            "k.cu:12: in 'BLOKC': there is no 'BLOKC'; did you mean 'BLOCK'?");
  EXPECT_THAT(refusal(with(kOwn, "{BLOCK}>", "{BLOKC}>")), HasSubstr("k.cu:9: '{BLOKC}' stands for nothing"));
  EXPECT_THAT(refusal(with(kOwn, "x: in T [M, N]", "x: inn T [M, N]")),
              HasSubstr("k.cu:5: expected the role in"));
  EXPECT_THAT(refusal(with(kOwn, "x: in T [M, N]", "x: in [M, N]")), HasSubstr("k.cu:5: expected"));
  EXPECT_THAT(refusal(with(kOwn, "x: in T [M, N]", "x: in T M")),
              HasSubstr("k.cu:5: expected ROLE DTYPE [SHAPE]"));
  EXPECT_THAT(refusal(with(kOwn, "x: in T [M, N]", "x: in f99 [M, N]")), HasSubstr("found 'f99'"));
  EXPECT_THAT(refusal(with(kOwn, "[y, x,", "[x,")), HasSubstr("k.cu:10: expected the output 'y'"));
  EXPECT_THAT(refusal(with(kOwn, "a: f32 = 1 / N", "a: f32")), HasSubstr("expected TYPE = VALUE"));
  EXPECT_THAT(refusal(with(kOwn, "M * N, min", "x * N, min")), HasSubstr("'x' is an operand"));
  EXPECT_THAT(refusal(with(kOwn, "UNROLL: [1, 2, 4]", "M: [1, 2, 4]")),
              HasSubstr("'M' is the name of two things"));
  EXPECT_THAT(refusal(with(kOwn, "- N % 4 == 0", "- N % 4 = 0")), HasSubstr("k.cu:19: in 'N % 4 = 0'"));
  EXPECT_THAT(refusal(with(kOwn, "[4x8,", "[4x8x2,")), HasSubstr("k.cu:23: expected 2 extents"));
  EXPECT_THAT(refusal(with(kOwn, "[zeros,", "[zeroes,")), HasSubstr("expected one of normal, zeros"));
  EXPECT_THAT(refusal(with(kOwn, "[f32, f16]", "[f32, f32]")), HasSubstr("f32 stands there twice"));
  EXPECT_THAT(refusal(with(kOwn, "relative: 1e-2", "relative: -1")), HasSubstr("expected a number from 0"));
  EXPECT_THAT(refusal(without(kOwn, "reference:")), HasSubstr("expected `reference:`"));
  EXPECT_THAT(refusal(with(kOwn, "kernel: slow", "python: slow")), HasSubstr("goes with `kernel`"));
  EXPECT_THAT(refusal(with(kOfOp, "op: copy", "op: kopy")), HasSubstr("k.cu:3: there is no op 'kopy'"));
  EXPECT_THAT(refusal(with(kOfOp, "{dim: 0}", "{axis: 0}")),
              HasSubstr("k.cu:4: copy: there is no option 'axis'"));
  EXPECT_THAT(refusal(with(kOfOp, "[M, N]", "[M, N, K]")),
              HasSubstr("k.cu:5: the op copy is not checked on"));
  EXPECT_THAT(refusal(without(kOfOp, "symbols:")), HasSubstr("expected `symbols: [M, N]`"));
  EXPECT_THAT(refusal(std::string(kOfOp) + "dtypes: [bf16]\n"),
              HasSubstr("k.cu:10: the op copy has no bf16"));
  EXPECT_THAT(refusal("just words"), HasSubstr("k.cu:3: expected the head's keys"));
  EXPECT_THAT(refusal(""), HasSubstr("expected the head's keys"));
}

TEST(KernelHead, IsFoundInTheFirstCommentThatBeginsWithItsName) {
  const HeadText block =
      find_head("// Copyright\n\n/* gpuforge:\n  op: copy\n  grid: M\n*/\nvoid f();\n", "k.cu");
  EXPECT_EQ(block.yaml, "  op: copy\n  grid: M\n\n");
  EXPECT_EQ(block.first_line, 4);
  const HeadText lines = find_head(
      "const char* a = \"/* gpuforge:\";\n// gpuforge:\n//   op: copy\n// grid: M\nint x;\n", "k.cu");
  EXPECT_EQ(lines.yaml, "   op: copy\n grid: M\n");
  EXPECT_EQ(lines.first_line, 3);
  const HeadText starred = find_head("/**\n * gpuforge:\n *   op: copy\n *\n *   grid: M\n */\n", "k.cu");
  EXPECT_EQ(starred.first_line, 3);
  EXPECT_EQ(Yaml::parse(starred.yaml, "k.cu", starred.first_line).at("grid").line(), 5);
  const auto message = [](std::string_view text) {
    try {
      find_head(text, "k.cu");
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(message("int x;"), HasSubstr("k.cu: there is no head"));
  EXPECT_THAT(message("// gpuforge: op: copy\n"), HasSubstr("k.cu:1: expected the line 'gpuforge:' alone"));
  EXPECT_THAT(message("/* gpuforge"), HasSubstr("there is no head"));
  EXPECT_EQ(message("/* gpuforge:"), "nothing was thrown");
}

// Heads with a few characters or lines changed are read or refused with a place, and nothing else.
TEST(KernelHead, AnyHeadIsReadOrRefused) {
  constexpr std::string_view kPieces[] = {"[", "]",    "{",  "}",  ":",    ",",  "-",    "\n", "  ", "M",
                                          "0", "1e99", "&a", "*a", "!!",   "'",  "\"",   "|",  ">",  "%",
                                          "#", "T",    "(",  ")",  "null", "\t", "\xff", "~"};
  std::mt19937 random(11);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  int read = 0;
  int refused = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text(round % 2 == 0 ? kOwn : kOfOp);
    for (std::size_t edits = below(3) + 1; edits > 0; --edits) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text.erase(at, below(8) + 1);
          break;
        case 1:
          text.insert(at, kPieces[below(std::size(kPieces))]);
          break;
        case 2:
          text[at] = static_cast<char>(below(127) + 1);
          break;
        default: {
          const std::size_t line = text.rfind('\n', at) + 1;
          text.erase(line, text.find('\n', line) + 1 - line);
        }
      }
      if (text.empty()) text = " ";
    }
    try {
      parse(text);
      ++read;
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.code(), ErrorCode::parse) << error.what() << "\n" << text;
      EXPECT_THAT(error.message(), StartsWith("k.cu:")) << text;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace gpuforge::lab
