// Texts that want too much: of memory, of the stack, of time. Each is an Error with a position, or runs and
// ends, without taking much.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/error.h"
#include "tests/ptx/kernel_run.h"

namespace gpuforge::ptx_files {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  // more than any of them needs, sanitizers included

std::string times(int count, std::string_view text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}
// `pattern` once for each number below `count`, which stands for #.
std::string numbered(int count, std::string_view pattern) {
  std::string all;
  for (int i = 0; i < count; ++i)
    for (const char letter : pattern) all += letter == '#' ? std::to_string(i) : std::string(1, letter);
  return all;
}

struct Hostile {
  std::string name;
  std::string expected;  // a part of the Error's message, or of a finding; empty: it runs
  std::function<std::string()> before = [] { return std::string(); };  // at module scope
  std::function<std::string()> body = [] { return std::string("ret;"); };
  std::string parameters = ".param .u64 a";
};

std::string module_text(const Hostile& hostile) {
  return ".version 8.5\n.target sm_90\n.address_size 64\n" + hostile.before() + "\n.visible .entry k(" +
         hostile.parameters +
         ")\n{\n.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<4>;\nmov.u32 %r0, 1; setp.eq.u32 %p0, %r0, "
         "0; "
         "ld.param.u64 %d0, [a];\n" +
         hostile.body() + "\n}\n";
}

using Text = std::function<std::string()>;
Text text(std::string_view constant) {
  return [constant] { return std::string(constant); };
}
Text none() {
  return text("");
}

std::vector<Hostile> hostiles() {
  return {
      // Sizes
      {"shared_48_bits", "2^40", text(".shared .b8 x[0xffffffffffff];"), text("mov.u32 %r0, x; ret;")},
      {"shared_in_kernel", "2^40", none(), text(".shared .b8 x[0xffffffffffff]; mov.u32 %r0, x; ret;")},
      {"shared_overflow", "2^40", text(".shared .b8 x[0xffffffff][0xffffffff][0xffffffff];"),
       text("mov.u32 %r0, x; ret;")},
      {"global_48_bits", "2^40", text(".global .b8 x[281474976710655];")},
      {"global_product", "2^40", text(".global .u32 x[4294967296][4294967296];")},
      {"global_many_dimensions", "2^40", [] { return ".global .u8 x" + times(64, "[2]") + ";"; }},
      {"global_half_a_terabyte", "2^32", text(".global .b8 x[549755813888];")},
      {"global_initialised", "2^32", text(".global .b8 x[549755813888] = {1};")},
      {"globals_together", "2^32", [] { return numbered(64, ".global .b8 x#[1073741824];\n"); }},
      {"const_terabyte", "2^32", text(".const .b8 x[1099511627776];")},
      {"negative", "cannot be negative", text(".global .b8 x[-1];")},
      {"local", "at most 524288", none(),
       text(".local .b8 x[0x40000000]; mov.u64 %d1, x; st.local.u32 [%d1], 1; ret;")},
      {"local_40_bits", "at most 524288", none(),
       text(".local .b8 x[0xffffffffff]; mov.u64 %d1, x; st.local.u32 [%d1], 1; ret;")},
      {"registers", "a register range of", none(), text(".reg .b32 %x<4000000000>; mov.u32 %x0, 1; ret;")},
      {"registers_in_scopes", "", none(),
       [] { return numbered(2000, "{ .reg .b32 %y<1000000>; mov.u32 %y#, 1; }\n") + "ret;"; }},
      {"parameter", "at most 64 KB", none(), text("ret;"), ".param .u64 a, .param .b8 x[0xffffffffff]"},
      {"parameters", "at most 64 KB", none(), text("ret;"),
       ".param .u64 a" + numbered(50000, ", .param .u64 x#")},
      {"call_parameter", "at most 65536", text(".func f(.param .b8 x[0xffffffffff]) { ret; }"),
       text("{ .param .b8 z[0xffffffffff]; call f, (z); } ret;")},
      {"alignment_0", "an alignment of", text(".global .align 0 .b8 x[4];")},
      {"alignment_2_40", "an alignment of", text(".global .align 1099511627776 .b8 x[4];")},
      {"alignment_2_30", "an alignment of", none(), text(".local .align 1073741824 .b8 x[4]; ret;")},
      {"too_many_values", "more values",
       [] { return ".global .u32 x[2] = {" + times(300000, "1,") + "1};"; }},
      // Depth
      {"blocks", "deeper than 200", none(), [] { return times(200000, "{") + times(200000, "}") + "ret;"; }},
      {"open_blocks", "deeper than 200", none(), [] { return times(200000, "{"); }},
      {"initialisers", "nests too deep", [] { return ".global .u32 x[1] = " + times(200000, "{") + "1;"; }},
      {"parentheses", "nests too deep", [] { return ".global .u32 x = " + times(200000, "(") + "1;"; }},
      {"minuses", "nests too deep", [] { return ".global .u32 x = " + times(500000, "-") + "1;"; }},
      {"complements", "nests too deep", none(),
       [] { return "mov.u32 %r0, " + times(500000, "~") + "1; ret;"; }},
      {"conditions", "nests too deep", [] { return ".global .u32 x = " + times(100000, "1 ? 2 : ") + "1;"; }},
      {"sum", "", [] { return ".global .u32 x = " + times(300000, "1+") + "1;"; }},
      {"call_chain", "stack overflow",
       [] {
         std::string all = numbered(5001, ".func f#();\n") + ".func f5000() { ret; }\n";
         for (int i = 0; i < 5000; ++i)
           all += ".func f" + std::to_string(i) + "() { call f" + std::to_string(i + 1) + "; ret; }\n";
         return all;
       },
       text("call f0; ret;")},
      {"recursion", "stack overflow", text(".func f() { call f; ret; }"), text("call f; ret;")},
      // Length
      {"line", "", none(), [] { return times(5000000, " ") + "ret;"; }},
      {"name", "is not declared", none(), [] { return "mov.u32 " + times(2000000, "x") + ", 1; ret;"; }},
      {"comment", "not closed", none(), [] { return "/*" + times(5000000, "x"); }},
      {"string", "not closed", none(), [] { return ".pragma \"" + times(5000000, "x"); }},
      {"digits", "number", none(), [] { return "mov.u32 %r0, 0x" + times(500000, "f") + "; ret;"; }},
      {"modifiers", "does not know this form", none(),
       [] { return "add" + times(200000, ".s32") + " %r0, %r1, %r2; ret;"; }},
      {"vector", "2 or 4 elements", none(),
       [] { return "mov.b64 %d0, {" + times(300000, "%r0,") + "%r0}; ret;"; }},
      {"arguments", "more operands", text(".func f(.param .b32 x) { ret; }"),
       [] { return "call f, (" + times(300000, "%r0,") + "%r0); ret;"; }},
      {"labels", "", none(), [] { return numbered(1000000, "L#:\n") + "ret;"; }},
      {"branches", "step limit", none(), [] { return numbered(50000, "L#: @%p0 bra L#;\n") + "ret;"; }},
      {"branches_to_the_end", "step limit", none(),
       [] { return numbered(50000, "@%p0 bra END;\nadd.u32 %r1, %r0, #;\n") + "END: ret;"; }},
      {"branch_targets", "", none(),
       [] { return "T: .branchtargets " + times(100000, "L,") + "L; brx.idx %r0, T; L: ret;"; }},
      {"dimensions", "", [] { return ".global .u8 x" + times(200000, "[1]") + ";"; }},
      {"prototype", "", none(),
       [] { return "P: .callprototype _ (" + times(100000, ".param .b32 _,") + ".param .b32 _); ret;"; }},
      {"entries", "", [] { return numbered(30000, ".entry e#() { ret; }\n"); }},
      // Numbers
      {"line_number", "number", none(), text(".loc 99999999999999999999 1 1\n ret;")},
      {"line_numbers", "", none(), text(".loc 4294967295 4294967295 4294967295\n ret;")},
      {"division", "division by zero", text(".global .u32 x = 1/0;")},
      {"quotient_overflow", "", text(".global .u64 x = (-9223372036854775807-1)/-1;")},
      {"offset", "out of bounds", none(), text("ld.global.u32 %r0, [%d0+9223372036854775804]; ret;")},
      {"parameter_offset", "out of bounds", none(), text("ld.param.u64 %d0, [a+9223372036854775800]; ret;")},
      {"shared_offset", "out of bounds", none(),
       text(".shared .b32 x; ld.shared.u32 %r0, [x+2147483648]; ret;")},
      {"branch_index", "out of bounds", none(),
       text("mov.u32 %r0, 500000; T: .branchtargets L, L; brx.idx %r0, T; L: ret;")},
      // Time
      {"loop", "step limit", none(), text("L: bra L;")},
      {"loop_of_barriers", "step limit", none(), text("L: bar.sync 0; bra L;")},
      {"loop_of_polls", "step limit", none(), text("L: ld.volatile.global.u32 %r1, [%d0]; bra L;")},
  };
}

// The most that was resident so far; a text that takes less than an earlier one does not show, which is all
// right.
std::size_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

class HostilePtx : public testing::TestWithParam<std::string> {};

TEST_P(HostilePtx, IsAnErrorWithAPositionOrEnds) {
  for (const Hostile& hostile : hostiles()) {
    if (hostile.name != GetParam()) continue;
    const std::string ptx = module_text(hostile);
    const std::size_t before = peak_bytes();
    std::string said;
    try {
      const SimModule module(ptx, "hostile.ptx");
      std::vector<Bytes> buffers{Bytes(256)};
      said = module.run("k", {1, 64}, buffers, {.step_limit = 20'000}).findings_text();
      if (hostile.expected.empty()) {
        EXPECT_EQ(said, "");
      }
    } catch (const Error& error) {
      said = error.what();
      EXPECT_FALSE(hostile.expected.empty()) << said.substr(0, 300);
      EXPECT_NE(error.code(), ErrorCode::internal);
      EXPECT_NE(said.find("hostile.ptx:"), std::string::npos) << "no position: " << said.substr(0, 300);
    }
    EXPECT_NE(said.find(hostile.expected), std::string::npos) << said.substr(0, 300);
    EXPECT_LT(peak_bytes() - before, kMaxBytes);
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Hostile& hostile : hostiles()) all.push_back(hostile.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Texts, HostilePtx, testing::ValuesIn(names()),
                         [](const auto& tested) { return tested.param; });

TEST(HostileDirectives, ThreadLimitsBeyondAnyNumberDoNotWrapAround) {
  const auto memory = std::make_shared<sim::Memory>();
  const auto program = sim::load_program(memory,
                                         ".version 8.5\n.target sm_90\n.address_size 64\n"
                                         ".entry k() .maxntid 65536, 65536, 65536 { ret; }\n"
                                         ".entry l() .maxntid 99999999999 { ret; }\n",
                                         "limits.ptx");
  for (const std::string& name : sim::entries(*program))
    EXPECT_EQ(sim::entry_facts(*program, name).max_threads_per_block, 1 << 30) << name;
}

}  // namespace
}  // namespace gpuforge::ptx_files
