// From text to code: what is refused and how, and where variables lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/names.h"
#include "gpuforge/sim/program.h"
#include "gpuforge/sim/run_for_tests.h"
#include "gpuforge/sim/syntax.h"

namespace gpuforge::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Error failure(const std::string& ptx) {
  try {
    TestRun test(ptx);
    image_of(test.program(), "k");
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "it was accepted: " << ptx;
  return Error(ErrorCode::internal, "accepted");
}

TEST(SimDecode, RefusalsNameThePlaceAndTheReason) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"frobnicate.u32 %r1, %r2;", "test.ptx:8:1: the simulator does not know the instruction frobnicate"},
      {"add.u33 %r1, %r2, %r3;", "this form of add: add.u33"},
      {"add.u32 %r1, %r2;", "these operands do not fit add.u32"},
      {"add.u32 %r1, %r2, %h3;", "'%h3' has 16 bits, this instruction expects 32"},
      {"add.u32 %r1, %r2, %r99;", "'%r99' is not declared"},
      {"add.u32 %r1, %r2, nothing;", "'nothing' is not declared"},
      {"add.u32 7, %r2, %r3;", "these operands do not fit"},
      {"add.u32 %tid.x, %r2, %r3;", "'%tid.x' cannot be written"},
      {"setp.eq.u32 %r1, %r2, %r3;", "'%r1' is a register, expected a predicate"},
      {"add.u32 %r1, %r2, %p3;", "'%p3' is a predicate, expected a register"},
      {"add.u32 %r1, %r2, !%p3;", "only a predicate can be negated here"},
      {"and.pred %p1, %p2, !a;", "'a' is an address, expected a predicate"},
      {"and.pred %p1, %p2, a;", "'a' is an address, expected a predicate"},
      {"and.pred %p1, %p2, a+4;", "'a' is an address, expected a predicate"},
      {"add.f32 %f1, %f2, 1;", "a floating-point constant is expected"},
      {"bra NOWHERE;", "there is no label 'NOWHERE'"},
      {"@%p99 bra L; L: ret;", "'%p99' is not declared"},
      {"ld.global.v2.u32 {%r1, %r2, %r3, %r4}, [%d1];", "2 elements are expected, found 4"},
      {"red.global.add.v4.f32 [%d1], {%f1, %f2};", "4 elements are expected, found 2"},
      {"atom.global.add.v2.f32 {%f1, %f2}, [%d1], {%f1, %f2, %f3, %f4};", "2 elements are expected, found 4"},
      {"ld.global.u64 %r1, [%d1];", "registers of at least 64 bits"},
      {"ld.global.u32 %r1, [%h1];", "has 16 bits, an address has 32 or 64"},
      {"ld.global.u32 %r1, [unknown];", "'unknown' is not declared"},
      {"mov.b64 %d1, {%h1, %h2};", "'%h1' has 16 bits, this instruction expects 32"},
      {"mov.b32 {%r1, %r2}, %r3;", "'%r1' has 32 bits, this instruction expects 16"},
      {"call missing, ();", "there is no function 'missing'"},
      {"brx.idx %r1, %r2;", ".branchtargets"},
      {".reg .u32 %r1;\n.reg .u32 %r1;", "'%r1' is declared twice"},
      {"L: L: ret;", "'L' is declared twice"},
      {"wgmma.fence.sync.aligned;", "does not know the instruction wgmma"},
      {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}];", "does not know the instruction tex"},
      {".local .b8 big[1000000];", "at most"},
      {"cvt.u64.u32 %r1, %r2;", "narrower than its type"},
  };
  for (const auto& [body, message] : cases) {
    const Error error = failure(module_text(body + " ret;", 1));
    EXPECT_THAT(error.message(), HasSubstr(message)) << body;
    EXPECT_THAT(error.message(), HasSubstr("test.ptx:")) << body;
    EXPECT_TRUE(error.code() == ErrorCode::parse || error.code() == ErrorCode::unsupported) << body;
  }
}

TEST(SimDecode, RefusalsNameTheLineThatThePtxWasMadeFrom) {
  const Error error =
      failure(module_text(".loc 1 3 5\nwgmma.fence.sync.aligned; ret;", 1, ".file 1 \"tiny.cu\""));
  EXPECT_THAT(error.message(), HasSubstr("tiny.cu:3: the simulator does not know the instruction wgmma"));
  EXPECT_THAT(error.message(), HasSubstr("of its PTX)"));
}

TEST(SimDecode, AKernelThatIsNotRunMayHoldAnything) {
  TestRun test(module_text("ret;", 0, ".visible .entry other() { wgmma.fence.sync.aligned; ret; }"));
  EXPECT_TRUE(test.run().clean());
}

TEST(SimDecode, UnknownKernelsAreNamedWithTheKnownOnes) {
  TestRun test(module_text("ret;", 0));
  try {
    image_of(test.program(), "nobody");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("no kernel 'nobody'; it has: k"));
  }
}

TEST(SimDecode, ArgumentsAreCounted) {
  TestRun test(module_text("ret;", 2));
  test.words(1);
  EXPECT_THROW(test.run(), Error);
}

TEST(SimDecode, VariablesAndTheirInitialisers) {
  TestRun test(module_text(
      "ld.param.u64 %d1, [a]; ld.global.u32 %r1, [numbers+4]; ld.const.u8 %r2, [bytes+2]; ld.global.u64 %d2, "
      "[pointer];\n"
      "ld.global.u32 %r3, [%d2]; ld.global.f32 %f1, [half]; mov.b32 %r4, %f1; ld.global.u32 %r5, [zero];\n"
      "ld.global.u16 %r6, [grid+10]; st.global.u32 [%d1], %r1; st.global.u32 [%d1+4], %r2; st.global.u32 "
      "[%d1+8], %r3;\n"
      "st.global.u32 [%d1+12], %r4; st.global.u32 [%d1+16], %r5; st.global.u32 [%d1+20], %r6; ret;",
      1,
      ".global .u64 pointer = generic(numbers)+8;\n.global .align 4 .u32 numbers[4] = {10, 20, 30};\n"
      ".const .align 1 .b8 bytes[4] = {1, 2, 0xfe, 4};\n.global .f32 half = 0.5;\n.global .u32 zero;\n"
      ".global .u16 grid[2][3] = {{1, 2, 3}, {4, 5, 6}};"));
  const auto& out = test.words(6);
  EXPECT_TRUE(test.run({1, 1, 1}, {1, 1, 1}).clean());
  EXPECT_THAT(out, ElementsAre(20u, 0xfeu, 30u, 0x3f000000u, 0u, 6u));
}

TEST(SimDecode, InitialisersThatDoNotFit) {
  EXPECT_THAT(failure(module_text("ret;", 0, ".global .u32 x[2] = {1, 2, 3};")).message(),
              HasSubstr("more values"));
  EXPECT_THAT(failure(module_text("ret;", 0, ".global .u64 x = missing;")).message(), HasSubstr("'missing'"));
  EXPECT_THAT(failure(module_text("ret;", 0, ".global .align 3 .u32 x;")).message(),
              HasSubstr("power of two"));
  EXPECT_THAT(failure(module_text("ret;", 0, ".global .b8 x[1099511627777];")).message(), HasSubstr("2^40"));
}

TEST(SimDecode, SharedMemoryIsLaidOutPerKernel) {
  TestRun test(
      module_text("mov.u32 %r1, d; ld.param.u64 %d1, [a]; st.global.u32 [%d1], %r1; mov.u32 %r2, b1; "
                  "st.global.u32 [%d1+4], %r2; ret;",
                  1,
                  ".shared .align 4 .b8 unused[40000]; .shared .align 16 .b8 b1[20]; .extern .shared .align "
                  "16 .b8 d[];"));
  const auto& out = test.words(2);
  const LaunchReport report = test.run({1, 1, 1}, {1, 1, 1}, 100);
  EXPECT_THAT(out, ElementsAre(32u, 0u));
  EXPECT_EQ(report.shared_bytes, 132u);
}

TEST(SimDecode, FactsOfAKernel) {
  TestRun test(
      ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 a, .param .align 16 .b8 "
      "b[20], "
      ".param .u64 c) .maxntid 64, 2, 1 .minnctapersm 2\n"
      "{ .shared .b8 s[40]; .local .b8 l[100]; .reg .b32 %r; mov.u32 %r, s; mov.u32 %r, l; ret; }\n"
      ".visible .entry other() .reqntid 8, 4 .reqnctapercluster 2\n{ ret; }\n");
  EXPECT_THAT(entries(test.program()), ElementsAre("k", "other"));
  const EntryFacts facts = entry_facts(test.program(), "k");
  EXPECT_EQ(facts.name, "k");
  EXPECT_EQ(facts.static_shared_bytes, 40u);
  EXPECT_EQ(facts.local_bytes, 112u) << "a multiple of 16";
  EXPECT_EQ(facts.max_threads_per_block, 128);
  EXPECT_EQ(facts.required_block, (Index3{0, 0, 0}));
  ASSERT_EQ(facts.parameters.size(), 3u);
  EXPECT_EQ(facts.parameters[1].offset, 16u);
  EXPECT_EQ(facts.parameters[2].offset, 40u);
  const EntryFacts other = entry_facts(test.program(), "other");
  EXPECT_EQ(other.max_threads_per_block, 32);
  EXPECT_EQ(other.required_block, (Index3{8, 4, 1}));
  EXPECT_EQ(other.required_cluster, (Index3{2, 1, 1}));
  EXPECT_EQ(target_chip(test.program()), "sm_90");
}

TEST(SimDecode, SizesThatNoChipTakesAreErrors) {
  const auto with_parameter = [](const char* version, int bytes) {
    return format_text(
        ".version {}\n.target sm_80\n.address_size 64\n.visible .entry k(.param .b8 p[{}]) {{ ret; }}\n",
        version, bytes);
  };
  const auto facts = [](const std::string& text) { return entry_facts(TestRun(text).program(), "k"); };
  EXPECT_EQ(facts(with_parameter("8.0", 4352)).parameters[0].bytes, 4352u);
  EXPECT_EQ(facts(with_parameter("8.1", 32764)).parameters[0].bytes, 32764u);
  EXPECT_THAT([&] { facts(with_parameter("8.0", 4353)); },
              testing::ThrowsMessage<Error>(
                  HasSubstr("test.ptx:4:1: kernel k has 4353 bytes of parameters; PTX 8.0 allows 4352")));
  EXPECT_THAT([&] { facts(with_parameter("9.0", 32765)); },
              testing::ThrowsMessage<Error>(HasSubstr("PTX 9.0 allows 32764")));
  const auto with_local = [](int bytes) {
    return module_text(
        format_text(".local .b8 l[262144]; .local .b8 m[{}]; mov.u64 %d1, l; mov.u64 %d2, m; ret;", bytes),
        0);
  };
  EXPECT_EQ(facts(with_local(262144)).local_bytes, 512u * 1024);
  EXPECT_THAT([&] { facts(with_local(262145)); },
              testing::ThrowsMessage<Error>(HasSubstr("a thread can have 524288")));
}

TEST(SimDecode, MutatedTextNeverCrashes) {
  const std::string good =
      module_text(std::string(kOwnWord) +
                      "setp.lt.u32 %p1, %r0, 5; @%p1 bra L; shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, -1; "
                      "fma.rn.f32 %f1, %f2, %f3, 0f3f800000;\n"
                      "L: ld.global.v2.u32 {%r4, %r5}, [%d0]; atom.global.add.u32 %r6, [%d0], 1; bar.sync 0; "
                      "mov.b64 {%r7, %r8}, %d0; ret;",
                  1, ".global .u32 v[3] = {1,2,3};\n.func (.param .b32 r) f(.param .b32 x) { ret; }");
  std::mt19937 random(7);
  const std::string alphabet = "%rdfph0123456789.,;:{}[]()<>@!|+-_ \n\taxz";
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (unsigned change = 0; change < 1 + random() % 4; ++change) {
      const std::size_t at = random() % text.size();
      const auto what = random() % 3;
      if (what == 0)
        text[at] = alphabet[random() % alphabet.size()];
      else if (what == 1)
        text.erase(at, 1 + random() % 6);
      else
        text.insert(at, text.substr(random() % text.size(), random() % 20));
    }
    try {
      TestRun test(text);
      test.words(64);
      test.options.step_limit = 20'000;
      test.run();
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::internal) << error.message() << "\n" << text;
    }
  }
}

TEST(SimNames, RangesScopesAndNumbers) {
  Names names;
  names.open();
  Symbol range;
  range.kind = Symbol::Kind::range;
  range.number = 100;
  range.range = 20;
  EXPECT_TRUE(names.declare("%r", range));
  EXPECT_FALSE(names.declare("%r", range));
  ASSERT_NE(names.find("%r7"), nullptr);
  EXPECT_EQ(names.find("%r7")->number, 107u);
  EXPECT_EQ(names.find("%r20"), nullptr);
  EXPECT_EQ(names.find("%r07"), nullptr);
  EXPECT_EQ(names.find("%r"), nullptr);
  names.open();
  range.number = 500;
  EXPECT_TRUE(names.declare("%r", range));
  EXPECT_EQ(names.find("%r7")->number, 507u);
  names.close();
  EXPECT_EQ(names.find("%r7")->number, 107u);
  EXPECT_EQ(names.find("%r99999999999999999999"), nullptr);
}

TEST(SimSyntax, CompilesAndMatches) {
  const RowSyntax row = compile_syntax("cvt[.rn|.rz][.ftz](.f32|.f64).u32 d:s, ?a:x");
  EXPECT_EQ(row.mnemonic, "cvt");
  ASSERT_EQ(row.operands.size(), 2u);
  EXPECT_TRUE(row.operands[1].optional);
  const auto fits = [&](std::vector<std::string_view> words) { return modifiers_fit(row, words); };
  EXPECT_TRUE(fits({"f32", "u32"}));
  EXPECT_TRUE(fits({"rz", "ftz", "f64", "u32"}));
  EXPECT_FALSE(fits({"ftz", "rz", "f64", "u32"}));
  EXPECT_FALSE(fits({"rn", "u32"}));
  EXPECT_FALSE(fits({}));
  const auto fits_somehow = [&](std::vector<std::string_view> words) {
    return modifiers_fit_in_any_order(row, words);
  };
  EXPECT_TRUE(fits_somehow({"ftz", "rz", "f64", "u32"}));
  EXPECT_TRUE(fits_somehow({"f64", "ftz", "u32", "rz"}));
  EXPECT_FALSE(fits_somehow({"ftz", "rz", "u32", "f64"}));  // types keep their order
  EXPECT_FALSE(fits_somehow({"ftz", "ftz", "f64", "u32"}));
  const std::vector<std::string_view> words = {"rn", "f32", "u32"};
  EXPECT_EQ(make_match(words).type, Type::u32);
  EXPECT_EQ(make_match(words).other_type, Type::f32);
}

}  // namespace
}  // namespace gpuforge::sim
