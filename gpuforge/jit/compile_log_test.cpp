#include "gpuforge/jit/compile_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace gpuforge::jit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TranslationUnit unit_of(std::string name, std::string text = {}) {
  TranslationUnit unit;
  unit.source.name = std::move(name);
  unit.source.text = std::move(text);
  unit.searched = {"/a", "/b c"};
  return unit;
}

std::string failure(std::string_view log, const TranslationUnit& unit = unit_of("saxpy.cu"),
                    int ptx_line = 0) {
  const Error error = compile_failure(unit, {9, 0, 'a', false}, "NVRTC 13.0.88", log, ptx_line);
  EXPECT_EQ(error.code(), ErrorCode::compile);
  EXPECT_EQ(error.detail(), log);
  return error.message();
}

TEST(CompileLog, DiagnosticsWithTheirPlaces) {
  const auto found = parse_diagnostics(
      "sp (x) \xc3\xa4: b.cu(2): warning #177-D: variable \"u\" was declared but never referenced\n"
      "   int u=1;\n"
      "       ^\n"
      "\n"
      "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
      "\n"
      "a.cu(4): error: expected a \";\"\n"
      "  }\n"
      "  ^\n"
      "\n"
      "nvrtc: error: unrecognized option -O3 found\n"
      "1 error detected in the compilation of \"a.cu\".\n"
      "Command-line error: invalid or no value specified with --nv_arch flag\n");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].file, "sp (x) \xc3\xa4: b.cu");
  EXPECT_EQ(found[0].line, 2);
  EXPECT_FALSE(found[0].is_error);
  EXPECT_EQ(found[1].file, "a.cu");
  EXPECT_EQ(found[1].line, 4);
  EXPECT_TRUE(found[1].is_error);
  EXPECT_EQ(found[1].text, "expected a \";\"");
  EXPECT_THAT(found[1].excerpt, ElementsAre("  }", "  ^"));
  EXPECT_EQ(found[2].file, "nvrtc");
  EXPECT_EQ(found[2].line, 0);
  EXPECT_EQ(found[2].text, "unrecognized option -O3 found");
  EXPECT_EQ(found[3].text, "invalid or no value specified with --nv_arch flag");
  EXPECT_THAT(parse_diagnostics(""), IsEmpty());
}

TEST(CompileLog, FirstErrorFirst) {
  EXPECT_EQ(failure("saxpy.cu(2): warning #177-D: variable \"unused\" was declared but never referenced\n"
                    "   int unused=1;\n"
                    "       ^\n"
                    "\n"
                    "saxpy.cu(3): error: identifier \"bb\" is undefined\n"
                    "   int a = bb;\n"
                    "           ^\n"
                    "\n"
                    "saxpy.cu(4): error: identifier \"dd\" is undefined\n"
                    "   int c = dd;\n"
                    "           ^\n"
                    "\n"
                    "saxpy.cu(5): error: three\n"
                    "3 errors detected in the compilation of \"saxpy.cu\".\n"),
            "saxpy.cu:3: error: identifier \"bb\" is undefined\n"
            "     int a = bb;\n"
            "             ^\n"
            "(and 2 more errors)");
}

TEST(CompileLog, LongLinesAreShownAroundTheCaret) {
  const std::string line = "  " + std::string(1000, 'a') + "zz" + std::string(1000, 'b');
  const std::string message = failure("a.cu(1): error: no\n" + line + "\n" + std::string(1002, ' ') + "^\n");
  EXPECT_LT(message.size(), 500u);
  EXPECT_THAT(message, HasSubstr("azzb"));
  const std::size_t column = message.find("zz") - message.find("    a");
  EXPECT_EQ(message.find('^') - message.rfind('\n') - 1, column);
}

TEST(CompileLog, MissingHeadersSayWhatToDo) {
  const auto missing = [](std::string_view header) {
    return failure(
        format_text("saxpy.cu(1): catastrophic error: could not open source file \"{}\" (no directories in "
                    "search list)\n  #include <{}>\n            ^\n\n1 catastrophic error detected\n",
                    header, header));
  };
  EXPECT_EQ(missing("cuda_fp16.h"),
            "saxpy.cu:1: error: header \"cuda_fp16.h\" not found: it ships with the CUDA toolkit and the "
            "PyPI wheel "
            "nvidia-cuda-runtime: install one of them (searched: /a, /b c)");
  EXPECT_THAT(missing("cub/block/block_reduce.cuh"), HasSubstr("nvidia-cuda-cccl"));
  EXPECT_THAT(missing("cuda/std/atomic"), HasSubstr("CCCL"));
  EXPECT_THAT(missing("thrust/pair.h"), HasSubstr("CCCL"));
  EXPECT_THAT(missing("stdint.h"), HasSubstr("host headers do not exist in device code; <cuda/std/cstdint>"));
  EXPECT_THAT(missing("cstdint"), HasSubstr("<cuda/std/cstdint>"));
  EXPECT_THAT(missing("array"), HasSubstr("<cuda/std/array>"));
  EXPECT_THAT(missing("iostream"), HasSubstr("host headers do not exist in device code"));
  EXPECT_THAT(missing("vector"), Not(HasSubstr("cuda/std/vector")));
  EXPECT_THAT(missing("stdio.h"), HasSubstr("printf works without it"));
  EXPECT_THAT(missing("cute/tensor.hpp"), HasSubstr("CUTLASS"));
  EXPECT_THAT(missing("gpuforge/kernels/nothing.cuh"), HasSubstr("no such device header"));
  EXPECT_THAT(missing("mine.h"), HasSubstr("header \"mine.h\" not found: check its name, or add its folder"));
  EXPECT_THAT(failure("a/b.h(7): catastrophic error: cannot open source file \"mine.h\"\n"),
              HasSubstr("a/b.h:7: error: header \"mine.h\" not found"));
}

TEST(CompileLog, HostCodeGetsAHint) {
  EXPECT_THAT(
      failure(
          "k.cu(2): error: A function without execution space annotations (__host__/__device__/__global__) "
          "is considered a host function, and host functions are not allowed in JIT mode. Consider using "
          "-default-device flag\n  int main(){ return 0; }\n      ^\n"),
      testing::AllOf(HasSubstr("k.cu:2: error: a function without __device__ or __global__ is host code"),
                     HasSubstr("\n    int main(){ return 0; }\n        ^")));
  EXPECT_THAT(
      failure(
          "k.cu(2): error: A namespace scope variable without memory space annotations is considered a host "
          "variable, and host variables are not allowed in JIT mode.\n"),
      HasSubstr("mark it __device__, __constant__ or constexpr"));
  EXPECT_THAT(failure("k.cu(2): error: identifier \"f\" is undefined\n  f<<<1,2>>>();\n  ^\n"),
              HasSubstr("<<<...>>> launches are host code"));
}

TEST(CompileLog, InstantiationsAreNamed) {
  EXPECT_EQ(failure("__nv_name_map(2): error: identifier \"flo\" is undefined\n"
                    "  #pragma nv_mangled_name tile<flo,3>\n"
                    "                               ^\n"),
            "saxpy.cu: error: instantiation 'tile<flo,3>': identifier \"flo\" is undefined");
}

TEST(CompileLog, PtxasErrors) {
  constexpr std::string_view kLog =
      "ptxas application ptx input, line 4; error   : Not a name of any known instruction: 'foo'\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n";
  EXPECT_EQ(first_ptxas_error(kLog).ptx_line, 4);
  EXPECT_EQ(source_line_of_ptx_line(".entry f {\n\t.loc\t1 7 2\n\tfine;\n\tfoo;\n.loc 1 8 2\n", 4), 7);
  EXPECT_EQ(source_line_of_ptx_line("{\n.loc 1 7 2\n}\nfoo;\n", 4), 0);
  EXPECT_EQ(source_line_of_ptx_line("{\n.loc 2 7 2\n\nfoo;\n", 4), 0);
  EXPECT_EQ(
      failure(kLog, unit_of("k.cu", "one\n  asm(\"foo;\");\n"), 2),
      "k.cu:2: error: Not a name of any known instruction: 'foo' (ptxas, for sm_90a)\n    asm(\"foo;\");");
  EXPECT_EQ(failure(kLog, unit_of("k.cu"), 99),
            "k.cu:99: error: Not a name of any known instruction: 'foo' (ptxas, for sm_90a)");
  EXPECT_EQ(failure("ptxas fatal   : Unresolved extern function '_Z1qi'\n"),
            "saxpy.cu: error: Unresolved extern function '_Z1qi' (ptxas, for sm_90a)");
}

TEST(CompileLog, SilentFailures) {
  EXPECT_EQ(failure("ptxas info    : Compiling entry function 'f' for 'sm_90a'\n"
                    "ptxas info    : Used 10 registers, used 1 barriers, 400000 bytes smem\n"),
            "saxpy.cu: error: kernel 'f' declares 400000 bytes of static shared memory, at most 49152 are "
            "allowed: use "
            "dynamic shared memory (extern __shared__) for more (ptxas, for sm_90a)");
  EXPECT_THAT(failure(""), HasSubstr("saxpy.cu: NVRTC 13.0.88 failed to compile it for sm_90a"));
}

TEST(CompileLog, ResourceRemarksAreRemoved) {
  EXPECT_EQ(without_resource_remarks(
                "k.cu(1): warning #177-D: x\n  int Used = registers;\n\n"
                "ptxas info    : (C7508) Potential Performance Loss: ignored\n"
                "ptxas info    : 0 bytes gmem\n"
                "ptxas info    : Compiling entry function 'saxpy' for 'sm_90a'\n"
                "ptxas info    : Function properties for saxpy\n"
                "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                "ptxas info    : Used 10 registers, used 1 barriers, 400 bytes smem\n"
                "ptxas info    : Compile time = 12.222 ms\n"),
            "k.cu(1): warning #177-D: x\n  int Used = registers;\n\n"
            "ptxas info    : (C7508) Potential Performance Loss: ignored");
  EXPECT_EQ(without_resource_remarks(""), "");
}

TEST(CompileLog, SurvivesAnyText) {
  std::mt19937 random(7);
  constexpr std::string_view kPieces[] = {"a.cu(",
                                          "3",
                                          "): error",
                                          ": ",
                                          "): warning #1-D: ",
                                          "\n",
                                          "  ^",
                                          "\"",
                                          "'",
                                          "ptxas ",
                                          "error : ",
                                          "line ",
                                          " bytes smem",
                                          "could not open source file \"",
                                          "__nv_name_map(2): error: x\n",
                                          "#pragma nv_mangled_name ",
                                          "\r",
                                          "99999999999"};
  for (int round = 0; round < 3000; ++round) {
    std::string log;
    for (std::size_t i = 0; i < 40; ++i) log += kPieces[random() % std::size(kPieces)];
    EXPECT_FALSE(failure(log, unit_of("a.cu", log), static_cast<int>(random() % 5)).empty());
    without_resource_remarks(log);
    source_line_of_ptx_line(log, 3);
  }
}

}  // namespace
}  // namespace gpuforge::jit
