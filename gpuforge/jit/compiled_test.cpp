#include "gpuforge/jit/compiled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "gpuforge/base/error.h"
#include "gpuforge/jit/kernel_names.h"

namespace gpuforge::jit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kPtx = R"(//
// Cuda compilation tools, release 13.0, V13.0.88
//
.version 9.0
.target sm_90a
.address_size 64

.extern .func (.param .b32 func_retval0) helper (.param .b64 helper_param_0);
.global .align 4 .b8 table[16] = {1, 2, 3, 4};

	// .globl	saxpy
.visible .entry saxpy(
	.param .f32 saxpy_param_0,
	.param .u64 saxpy_param_1, /* .entry fake( */
	.param .u64 .ptr .global .align 4 saxpy_param_2,
	.param .u32 saxpy_param_3
)
.maxntid 128, 1, 1
{
	.reg .b32 	%r<2>;
	{
	  .reg .pred %p; // } not a brace
	}
	ret;
}
.weak .entry _Z4tileIfLi3EEvPT_4Walk(
	.param .u64 _Z4tileIfLi3EEvPT_4Walk_param_0,
	.param .align 8 .b8 _Z4tileIfLi3EEvPT_4Walk_param_1[392]
)
{
	ret;
}
.entry bare { ret; }
.entry none() { ret; }
.file	1 "/a } folder/saxpy.cu"
)";

std::string parse_problem(std::string_view ptx) {
  try {
    entries_from_ptx(ptx, "x.ptx");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return error.message();
  }
  return "no error";
}

TEST(PtxEntries, EveryFormOfParameter) {
  const auto entries = entries_from_ptx(kPtx, "saxpy.cu");
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].name, "saxpy");
  EXPECT_EQ(entries[0].expression, "saxpy");
  ASSERT_EQ(entries[0].parameters.size(), 4u);
  EXPECT_EQ(entries[0].parameters[0].ptx_type, "f32");
  EXPECT_EQ(entries[0].parameters[0].bytes, 4u);
  EXPECT_EQ(entries[0].parameters[0].name, "");  // NVRTC's own name tells nothing
  EXPECT_EQ(entries[0].parameters[2].ptx_type, "u64");
  EXPECT_EQ(entries[0].parameters[2].bytes, 8u);
  EXPECT_EQ(entries[1].expression, "tile<float, 3>");
  ASSERT_EQ(entries[1].parameters.size(), 2u);
  EXPECT_EQ(entries[1].parameters[1].ptx_type, "b8[392]");
  EXPECT_EQ(entries[1].parameters[1].bytes, 392u);
  EXPECT_EQ(entries[2].name, "bare");
  EXPECT_THAT(entries[2].parameters, IsEmpty());
  EXPECT_THAT(entries[3].parameters, IsEmpty());
}

TEST(PtxEntries, HandWrittenNamesAndTypes) {
  const auto entries = entries_from_ptx(
      ".version 8.0\n.target sm_80\n.entry k(.param .s8 a, .param .b16 b, .param .f64 c, .param .b128 d,"
      ".param .v4 .f32 e, .param .texref t, .param .align 16 .b32 f[0x4]) ;\n.entry k(.param .s8 a){}",
      "k.ptx");
  ASSERT_EQ(entries.size(), 1u);  // a declaration and its definition
  ASSERT_EQ(entries[0].parameters.size(), 7u);
  std::vector<std::size_t> bytes;
  std::string names;
  for (const Parameter& parameter : entries[0].parameters) {
    bytes.push_back(parameter.bytes);
    names += parameter.name;
  }
  EXPECT_THAT(bytes, ElementsAre(1, 2, 8, 16, 16, 8, 16));
  EXPECT_EQ(names, "abcdetf");
}

TEST(PtxEntries, WhatIsNotPtxIsASentence) {
  EXPECT_EQ(parse_problem(""), "x.ptx: not PTX, which begins with .version");
  EXPECT_THAT(parse_problem("int main() {}"), HasSubstr("not PTX"));
  EXPECT_THAT(parse_problem(std::string_view("\x7f"
                                             "ELF\0\1\2",
                                             7)),
              HasSubstr("not PTX"));
  EXPECT_EQ(parse_problem(".version 9.0\n.entry"),
            "x.ptx:2: expected an entry's name, found the end of the text");
  EXPECT_EQ(parse_problem(".version 9.0\n.entry f(.param .u32"),
            "x.ptx:2: expected a parameter's name, found the end of the text");
  EXPECT_THAT(parse_problem(".version 9.0\n.entry f(.param .u33 x)"),
              HasSubstr("'.u33' is no parameter type"));
  EXPECT_THAT(parse_problem(".version 9.0\n.entry f(.param x)"), HasSubstr("expected a parameter's type"));
  EXPECT_THAT(parse_problem(".version 9.0\n.entry f(.reg .u32 x)"),
              HasSubstr("expected '.param', found '.reg'"));
  EXPECT_THAT(parse_problem(".version 9.0\n.entry f(.param .u32 x .param .u32 y)"),
              HasSubstr("expected ')'"));
  EXPECT_THAT(parse_problem(".version 9.0\n.entry f(.param .b8 x[99999999999999999999])"),
              HasSubstr("array's size"));
  EXPECT_THAT(parse_problem(".version 9.0\n.entry f(.param .b64 x[1000000])"),
              HasSubstr("larger than any launch"));
  EXPECT_THAT(parse_problem(".version 9.0\n.entry f(.param .b8 x[-1])"), HasSubstr("array's size"));
  EXPECT_THAT(parse_problem(".version 9.0\n.entry f() { ret;"), HasSubstr("expected '}'"));
  EXPECT_THAT(parse_problem(".version 9.0\n}"), HasSubstr("a '}' without its '{'"));
}

TEST(PtxEntries, SurvivesMutations) {
  std::mt19937 random(20240817);
  const auto pick = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  constexpr std::string_view kPieces[] = {".entry ",
                                          "(",
                                          ")",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ".param ",
                                          "/*",
                                          "//",
                                          "\"",
                                          ",",
                                          ".b8 ",
                                          "_ZN",
                                          "99999999999",
                                          "\n",
                                          std::string_view("\0", 1),
                                          "\xff"};
  std::size_t parsed = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text(kPtx);
    for (std::size_t edits = 1 + pick(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = pick(text.size());
      switch (pick(4)) {
        case 0:
          text[at] = static_cast<char>(pick(256));
          break;
        case 1:
          text.erase(at, pick(40));
          break;
        case 2:
          text.insert(at, kPieces[pick(std::size(kPieces))]);
          break;
        default:
          text.resize(at);
          break;
      }
    }
    try {
      std::vector<Entry> entries = entries_from_ptx(text, "mutated.ptx");
      add_declared_types(entries, text);
      add_resources(entries, text);
      ++parsed;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::parse) << error.message();
      ++refused;
    }
  }
  EXPECT_GT(parsed, 500u);
  EXPECT_GT(refused, 500u);
}

TEST(KernelNames, Demangled) {
  const auto tile = demangle("_Z4tileIfLi3EEvPT_4Walk");
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->expression, "tile<float, 3>");
  EXPECT_THAT(tile->types, ElementsAre("float*", "Walk"));
  const auto many = demangle("_Z2k11PS_4ModebcsxjRA3_fN2ns1WIfEEPKf");
  ASSERT_TRUE(many);
  EXPECT_EQ(many->expression, "k1");
  EXPECT_THAT(many->types, ElementsAre("P", "P", "Mode", "bool", "char", "short", "long long", "unsigned int",
                                       "float (&) [3]", "ns::W<float>", "const float*"));
  const auto hidden = demangle("_ZN40_GLOBAL__N__00000000_8_saxpy_cu_929e5f234anonEPi");
  ASSERT_TRUE(hidden);
  EXPECT_EQ(hidden->expression, "(anonymous namespace)::anon");
  EXPECT_THAT(hidden->types, ElementsAre("int*"));
  const auto none = demangle("_Z1fv");
  ASSERT_TRUE(none);
  EXPECT_THAT(none->types, IsEmpty());
  EXPECT_FALSE(demangle("saxpy"));
  EXPECT_FALSE(demangle("_Z"));
  EXPECT_FALSE(demangle("_Z" + std::string(100000, 'P')));
}

TEST(KernelNames, Unqualified) {
  EXPECT_EQ(unqualified("saxpy"), "saxpy");
  EXPECT_EQ(unqualified("a::b::tile<ns::x<3>, (1 > 2)>"), "tile");
  EXPECT_EQ(unqualified("(anonymous namespace)::anon"), "anon");
  EXPECT_EQ(unqualified(""), "");
}

TEST(KernelNames, ListsSplitAtTopLevelCommas) {
  EXPECT_THAT(split_list(""), IsEmpty());
  EXPECT_THAT(split_list("a"), ElementsAre("a"));
  EXPECT_THAT(split_list("a<b, c>, d (*)(e, f), g[2, 3] , {h, i}"),
              ElementsAre("a<b, c>", "d (*)(e, f)", "g[2, 3]", "{h, i}"));
  EXPECT_THAT(split_list("x<(1<2)>, y"), ElementsAre("x<(1<2)>", "y"));
}

std::string declared(std::string_view source, std::string_view name) {
  std::string text;
  for (const auto& list : find_declarations(source, name)) {
    text += "(";
    for (const DeclaredParameter& parameter : list) text += parameter.type + "|" + parameter.name + ";";
    text += ")";
  }
  return text;
}

TEST(Declarations, AsPeopleWriteThem) {
  EXPECT_EQ(
      declared("extern \"C\" __global__ void saxpy(float a, const float* __restrict__ x, float *y, int n) {}",
               "saxpy"),
      "(float|a;const float*|x;float*|y;int|n;)");
  EXPECT_EQ(declared("__global__ void __launch_bounds__(256, MIN(2, 3))\nf(\n  int n, // count, of "
                     "(things)\n  float /*x*/ *p)\n{}",
                     "f"),
            "(int|n;float*|p;)");
  EXPECT_EQ(
      declared("void __global__ __cluster_dims__(2,1,1) [[maybe_unused]] f(const __grid_constant__ Walk w)",
               "f"),
      "(const Walk|w;)");
  EXPECT_EQ(
      declared(
          "__global__ void f(float m[4], int (&r)[3], ns::W<a, b<c>> w, unsigned long long u, double g[][8])",
          "f"),
      "(float*|m;int (&)[3]|r;ns::W<a, b<c>>|w;unsigned long long|u;double (*)[8]|g;)");
  EXPECT_EQ(
      declared("__global__ void f(void (*callback)(int, int), const volatile int* const p, struct S s)", "f"),
      "(void (*)(int, int)|callback;const volatile int* const|p;struct S|s;)");
  EXPECT_EQ(declared("__global__ void f(int, unsigned, const Foo, ns::Bar, float*)", "f"),
            "(int|;unsigned|;const Foo|;ns::Bar|;float*|;)");
  EXPECT_EQ(declared("__global__ void f(void) {}", "f"), "()");
  EXPECT_EQ(declared("__global__ void f() {}", "f"), "()");
  EXPECT_EQ(
      declared("template <typename T, int N = (1 > 2)> __global__ void f(T* x, __align__(8) P p, int n = 3)",
               "f"),
      "(T*|x;P|p;int|n;)");
}

TEST(Declarations, OnlyKernelsOfThatName) {
  EXPECT_EQ(declared("__device__ int f(int x) {}\n__global__ void g(int y) { f(3); }", "f"), "");
  EXPECT_EQ(
      declared("// __global__ void f(int x)\n/* __global__ void f(int) */ \"__global__ void f(int)\"", "f"),
      "");
  EXPECT_EQ(declared("#define K __global__ void f(int \\\n x)\n__global__ void ff(char c);", "f"), "");
  EXPECT_EQ(declared("R\"x(__global__ void f(int a))\" )x\" __global__ void f(char c);", "f"), "(char|c;)");
  EXPECT_EQ(declared("__global__ void f(int a);\n__global__ void f(int b) {}", "f"), "(int|a;)(int|b;)");
  EXPECT_EQ(declared("template <class... A> __global__ void f(A... a) {}", "f"), "");
  EXPECT_EQ(declared("__global__ void f(int a", "f"), "");
  EXPECT_EQ(declared("__global__", "f"), "");
}

TEST(DeclaredTypes, JoinTheParameters) {
  auto entries = entries_from_ptx(kPtx, "saxpy.cu");
  add_declared_types(entries,
                     "struct Walk { long long x[49]; };\n"
                     "extern \"C\" __global__ void saxpy(float a, const float* x, float* y, int n) {}\n"
                     "template <class T, int N> __global__ void tile(T* data, Walk walk) {}\n");
  EXPECT_EQ(entries[0].parameters[1].declared_type, "const float*");
  EXPECT_EQ(entries[0].parameters[3].name, "n");
  EXPECT_EQ(entries[1].parameters[0].declared_type, "float*");  // the mangled name's, not T*
  EXPECT_EQ(entries[1].parameters[0].name, "data");
  EXPECT_EQ(entries[1].parameters[1].declared_type, "Walk");
}

TEST(DeclaredTypes, DroppedRatherThanWrong) {
  auto entries = entries_from_ptx(kPtx, "saxpy.cu");
  add_declared_types(entries, "__global__ void saxpy(float a, const float* x) {}");  // two for four
  EXPECT_EQ(entries[0].parameters[0].declared_type, "");
  EXPECT_EQ(entries[0].parameters[0].name, "");
  add_declared_types(entries,
                     "#if A\n__global__ void saxpy(float a, int* x, float* y, int n) {}\n#else\n"
                     "__global__ void saxpy(double a, int* z, float* y, int n) {}\n#endif\n");
  EXPECT_EQ(entries[0].parameters[0].declared_type, "");  // float or double?
  EXPECT_EQ(entries[0].parameters[0].name, "a");
  EXPECT_EQ(entries[0].parameters[1].declared_type, "int*");
  EXPECT_EQ(entries[0].parameters[1].name, "");
}

TEST(Resources, FromPtxasRemarks) {
  std::vector<Entry> entries(2);
  entries[0].name = "saxpy";
  entries[1].name = "f";
  add_resources(entries,
                "ptxas info    : 0 bytes gmem\n"
                "ptxas info    : Compiling entry function 'f' for 'sm_90a'\n"
                "ptxas info    : Function properties for f\n"
                "ptxas         .     160 bytes stack frame, 436 bytes spill stores, 440 bytes spill loads\n"
                "ptxas info    : Used 64 registers, used 0 barriers, 200 bytes cumulative stack size\n"
                "ptxas info    : Function properties for _Z6helperi\n"
                "ptxas         .     999 bytes stack frame, 999 bytes spill stores, 999 bytes spill loads\n"
                "ptxas info    : Compiling entry function 'saxpy' for 'sm_90a'\r\n"
                "ptxas info    : Function properties for saxpy\r\n"
                "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                "ptxas info    : Used 10 registers, used 1 barriers, 400 bytes smem, 380 bytes cmem[0]\n"
                "ptxas info    : Compiling entry function 'unknown' for 'sm_90a'\n"
                "ptxas info    : Used 99 registers\n");
  EXPECT_EQ(entries[0].registers, 10);
  EXPECT_EQ(entries[0].static_shared_bytes, 400u);
  EXPECT_EQ(entries[0].stack_bytes, 0u);
  EXPECT_EQ(entries[1].registers, 64);
  EXPECT_EQ(entries[1].stack_bytes, 200u);
  EXPECT_EQ(entries[1].spill_store_bytes, 436u);
  EXPECT_EQ(entries[1].spill_load_bytes, 440u);
  EXPECT_EQ(entries[1].static_shared_bytes, 0u);
}

TEST(PerformanceWarnings, SpillsAndAdvice) {
  Compiled compiled;
  compiled.arch = {9, 0, 'a', false};
  EXPECT_THAT(performance_warnings(compiled), IsEmpty());
  Entry entry;
  entry.expression = "f<float>";
  entry.spill_store_bytes = 8;
  compiled.entries.push_back(entry);
  compiled.log =
      "k.cu(1): warning #177-D: variable was declared but never referenced\n"
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored\n"
      "ptxas info    : (C8000) something else\n"
      "ptxas warning : Registers are spilled\n";
  const auto warnings = performance_warnings(compiled);
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[0], "f<float> for sm_90a: registers spill to local memory (8 bytes stored, 0 loaded)");
  EXPECT_THAT(warnings[1], HasSubstr("C7508"));
  EXPECT_THAT(warnings[2], HasSubstr("Registers are spilled"));
}

std::string lookup(const Compiled& compiled, std::string_view name) {
  try {
    return compiled.entry(name).name;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
}

TEST(CompiledEntry, ByEveryNameItHas) {
  Compiled compiled;
  compiled.source_name = "k.cu";
  EXPECT_EQ(lookup(compiled, "f"), "k.cu: there is no kernel 'f': the file has no __global__ function");
  compiled.entries = entries_from_ptx(
      ".version 9.0\n.entry saxpy(){}\n.entry _Z4tileIfLi3EEvPT_(){}\n.entry _Z4tileIdLi3EEvPT_(){}\n"
      ".entry _ZN2ns4onlyEv(){}",
      "k.cu");
  EXPECT_EQ(lookup(compiled, "saxpy"), "saxpy");
  EXPECT_EQ(lookup(compiled, "_Z4tileIfLi3EEvPT_"), "_Z4tileIfLi3EEvPT_");
  EXPECT_EQ(lookup(compiled, "tile<float,3>"), "_Z4tileIfLi3EEvPT_");
  EXPECT_EQ(lookup(compiled, "only"), "_ZN2ns4onlyEv");
  EXPECT_EQ(lookup(compiled, "ns::only"), "_ZN2ns4onlyEv");
  EXPECT_EQ(
      lookup(compiled, "tile"),
      "k.cu: 'tile' means several kernels; name one of: saxpy, tile<float, 3>, tile<double, 3>, ns::only");
  EXPECT_EQ(lookup(compiled, "saxpi"),
            "k.cu: there is no kernel 'saxpi'; there is: saxpy, tile<float, 3>, tile<double, 3>, ns::only");
  EXPECT_THAT(lookup(compiled, ""), HasSubstr("there is no kernel ''"));
}

}  // namespace
}  // namespace gpuforge::jit
