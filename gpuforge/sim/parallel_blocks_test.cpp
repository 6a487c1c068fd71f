// The same results on any number of host threads: memory, what is known to be written, findings and counters.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/run_for_tests.h"
#include "gpuforge/sim/simulator.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint32_t kBlocks = 400;
constexpr std::uint32_t kBlockThreads = 96;
constexpr std::size_t kWords = 4 + std::size_t{kBlocks} * kBlockThreads;

// A kernel with some work before `body`, so that other threads are worth their start. %r0: tid; %r1: ctaid;
// %r2: number in the grid; %d1, %d2: the buffers; %d3, %d4: the thread's words in them.
std::string kernel(const std::string& body) {
  return module_text(
      "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r2, %r1, %r3, %r0;\n"
      "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; mul.wide.u32 %d5, %r2, 4; add.u64 %d3, %d1, %d5;\n"
      "add.u64 %d4, %d2, %d5; mov.u32 %r40, 250;\n"
      "WORK: sub.u32 %r40, %r40, 1; setp.ne.u32 %p19, %r40, 0; @%p19 bra WORK;\n" +
          body + "\nret;",
      2);
}

struct Result {
  std::vector<std::uint32_t> memory;
  std::vector<std::uint64_t> written;
  std::string report;
  unsigned host_threads = 1;
  LaunchReport whole;
};

// One program and two buffers, at the same addresses for every run. The first one is filled, the second one
// holds nothing yet.
class Runs {
 public:
  explicit Runs(const std::string& ptx)
      : program_(load_program(memory_, ptx, "test.ptx")), buffers_(2 * kWords) {}
  ~Runs() { remove(); }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  Result run(unsigned threads) {
    remove();
    std::mt19937 random(7);
    for (std::uint32_t& word : buffers_) word = static_cast<std::uint32_t>(random());
    const auto begin = reinterpret_cast<std::uint64_t>(buffers_.data());
    const std::uint64_t second = begin + kWords * 4;
    allocations_ = {memory_->add(begin, kWords * 4, "a", true), memory_->add(second, kWords * 4, "b", false)};
    const std::vector<const void*> arguments{&begin, &second};
    options.host_threads = threads;
    Result result;
    result.whole =
        launch(*program_, "k", {{kBlocks / 4, 2, 2}, {kBlockThreads, 1, 1}, 0}, arguments, options);
    result.memory = buffers_;
    const std::uint64_t* const bits = allocations_[1]->initialized.get();
    result.written.assign(bits, bits + written_words(kWords * 4));
    result.host_threads = result.whole.host_threads;
    result.whole.seconds = 0;
    result.report = result.whole.json();
    return result;
  }

  Options options;

 private:
  void remove() {
    for (const auto& one : allocations_) memory_->remove(one->begin);
    allocations_.clear();
  }
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  std::shared_ptr<const Program> program_;
  std::vector<std::uint32_t> buffers_;
  std::vector<std::shared_ptr<Allocation>> allocations_;
};

enum class Expected { together, alone, either };

// Compares runs on several threads with the one on one thread, which it gives.
Result expect_same(const std::string& body, Expected expected, const Options& options = {}) {
  Runs runs(kernel(body));
  runs.options = options;
  Result one = runs.run(1);
  EXPECT_EQ(one.host_threads, 1u);
  for (const unsigned threads : {2u, 3u, 8u}) {
    const Result other = runs.run(threads);
    EXPECT_TRUE(other.memory == one.memory) << threads << " threads: memory\n" << body;
    EXPECT_TRUE(other.written == one.written) << threads << " threads: what was written\n" << body;
    EXPECT_EQ(other.report, one.report) << threads << " threads\n" << body;
    if (expected != Expected::either) {
      EXPECT_EQ(other.host_threads > 1, expected == Expected::together) << threads << " threads\n" << body;
    }
  }
  return one;
}

std::string linear_block() {  // %r4
  return "mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z; mad.lo.u32 %r6, %r6, 2, %r5; mov.u32 %r5, "
         "%nctaid.x;\n"
         "mad.lo.u32 %r4, %r6, %r5, %r1; mad.lo.u32 %r2, %r4, %r3, %r0; mul.wide.u32 %d5, %r2, 4;\n"
         "add.u64 %d3, %d1, %d5; add.u64 %d4, %d2, %d5;\n";
}

TEST(SimThreads, BlocksThatKeepApart) {
  const Result one =
      expect_same(linear_block() +
                      "ld.global.u32 %r10, [%d3]; ld.global.u32 %r11, [%d1]; add.u32 %r10, %r10, %r11;\n"
                      "st.global.u32 [%d4+16], %r10; ld.global.u32 %r12, [%d4+16]; add.u32 %r12, %r12, 1;\n"
                      "st.global.u32 [%d4+16], %r12;",
                  Expected::together);
  EXPECT_TRUE(one.whole.clean()) << one.whole.text();
  EXPECT_EQ(one.memory[kWords + 4 + 5], one.memory[5] + one.memory[0] + 1);
  EXPECT_FALSE(all_written(one.written.data(), 15, 1));
  EXPECT_TRUE(all_written(one.written.data(), 16, std::size_t{kBlocks} * kBlockThreads * 4));
}

TEST(SimThreads, BlocksThatKeepApartWithoutChecks) {
  Options options;
  options.races = options.initialized = options.counters = false;
  expect_same(linear_block() +
                  "ld.global.u32 %r10, [%d3]; st.global.u32 [%d3], %r2;\n"
                  "add.u32 %r10, %r10, %r2; st.global.u32 [%d4], %r10;",
              Expected::together, options);
}

TEST(SimThreads, NeighboursInAWord) {
  // 99 bytes a block: words of two blocks, each written by both in part.
  expect_same(linear_block() +
                  "mad.lo.u32 %r10, %r4, 99, %r0; cvt.u64.u32 %d6, %r10; add.u64 %d6, %d6, %d2;\n"
                  "ld.global.u32 %r11, [%d3]; st.global.u8 [%d6], %r11; ld.global.u8 %r12, [%d6];\n"
                  "add.u32 %r12, %r12, 1; st.global.u8 [%d6], %r12;",
              Expected::together);
}

TEST(SimThreads, PartsOfWarpsAndWideAccesses) {
  expect_same(linear_block() +
                  "and.b32 %r10, %r0, 3; setp.eq.u32 %p1, %r10, 0; setp.lt.u32 %p2, %r0, 41;\n"
                  "@%p1 ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%d3+16];\n"
                  "@%p1 st.global.v4.u32 [%d4+16], {%r14, %r13, %r12, %r11};\n"
                  "bar.sync 0; @%p2 ld.global.u32 %r15, [%d4+16]; @%p2 st.global.u32 [%d3], %r15;",
              Expected::either);
}

TEST(SimThreads, AllBlocksWriteOneWord) {
  const Result one =
      expect_same(linear_block() + "st.global.u32 [%d4], %r2; st.global.u32 [%d1], %r4;", Expected::alone);
  EXPECT_EQ(one.memory[0], kBlocks - 1);
  EXPECT_GT(one.whole.races(), 0u);
  Options options;
  options.races = false;
  expect_same(linear_block() + "st.global.u32 [%d4], %r2; st.global.u32 [%d1], %r4;", Expected::alone,
              options);
}

TEST(SimThreads, OneCounterWithoutAtomics) {
  Options options;
  options.races = options.initialized = false;
  const Result one =
      expect_same(linear_block() +
                      "setp.ne.u32 %p1, %r0, 0; @%p1 ret;\n"
                      "ld.global.u32 %r10, [%d1]; add.u32 %r10, %r10, 1; st.global.u32 [%d1], %r10;",
                  Expected::alone, options);
  Runs before(kernel("ret;"));
  EXPECT_EQ(one.memory[0], before.run(1).memory[0] + kBlocks);
}

TEST(SimThreads, ReadsOfWhatAnotherBlockWrites) {
  for (const char* from : {"-384", "+384"}) {  // the block before, and the one after
    for (const bool checks : {true, false}) {
      Options options;
      options.races = options.initialized = checks;
      const Result one = expect_same(
          linear_block() + format_text("add.u64 %d6, %d3, 512; ld.global.u32 %r10, [%d6{}]; add.u32 %r10, "
                                       "%r10, 1;\nsetp.gt.u32 %p1, %r4, 397; @%p1 ret;\n"
                                       "st.global.u32 [%d6], %r10;",
                                       from),
          Expected::alone, options);
      EXPECT_EQ(one.whole.races() > 0, checks);
    }
  }
}

TEST(SimThreads, OneLateBlockReadsWhatAnEarlyOneWrote) {
  // Nothing but these two: the first runs before there are threads.
  const Result one = expect_same(linear_block() +
                                     "st.global.u32 [%d4], %r2; setp.ne.u32 %p1, %r4, 390; @%p1 ret;\n"
                                     "ld.global.u32 %r10, [%d2]; st.global.u32 [%d4], %r10;",
                                 Expected::alone);
  EXPECT_GT(one.whole.races(), 0u);
}

TEST(SimThreads, FindingsAsInOrder) {
  // Races within some blocks, at two places; all apart from each other.
  const Result one =
      expect_same(linear_block() +
                      "rem.u32 %r10, %r4, 7; setp.eq.u32 %p1, %r10, 3; setp.eq.u32 %p2, %r10, 5;\n"
                      "rem.u32 %r11, %r4, 50; setp.eq.u32 %p3, %r11, 49; sub.u32 %r12, %r2, %r0;\n"
                      "mul.wide.u32 %d6, %r12, 4; add.u64 %d6, %d6, %d1;\n"
                      "@%p1 st.global.u32 [%d6], %r2; @%p3 st.global.u32 [%d6], %r0;\n"
                      "st.global.u32 [%d4], %r4; @%p2 st.global.u32 [%d6+4], %r2;",
                  Expected::together);
  EXPECT_GE(one.whole.findings.size(), 3u);
}

TEST(SimThreads, WhatWasNeverWrittenIsFollowedByOneThread) {
  const Result one = expect_same(linear_block() +
                                     "rem.u32 %r10, %r4, 7; setp.eq.u32 %p2, %r10, 5; mov.u32 %r14, 0;\n"
                                     "@%p2 ld.global.u32 %r14, [%d4]; st.global.u32 [%d4], %r14;",
                                 Expected::alone);
  EXPECT_GE(one.whole.findings.size(), 1u);
}

TEST(SimThreads, OneSourceLineIsOnePlaceInFindings) {
  // Two instructions of one line: in blocks of different threads still one entry.
  const Result one =
      expect_same(linear_block() +
                      "and.b32 %r10, %r4, 1; setp.eq.u32 %p1, %r10, 1; sub.u32 %r12, %r2, %r0;\n"
                      "mul.wide.u32 %d6, %r12, 4; add.u64 %d6, %d6, %d1;\n.loc 1 7 0\n"
                      "@%p1 st.global.u32 [%d6], %r0; @!%p1 st.global.u32 [%d6], %r0;",
                  Expected::together);
  EXPECT_GE(one.whole.findings.size(), 1u);
}

TEST(SimThreads, ABlockInTheMiddleFails) {
  const Result one = expect_same(linear_block() +
                                     "st.global.u32 [%d4], %r2; setp.ne.u32 %p1, %r4, 217; @%p1 ret;\n"
                                     "st.global.u32 [%d2+4000000], %r2;",
                                 Expected::alone);
  ASSERT_EQ(one.whole.findings.size(), 1u);
  EXPECT_TRUE(all_written(one.written.data(), 217 * kBlockThreads * 4, 4));
  EXPECT_FALSE(all_written(one.written.data(), 218 * kBlockThreads * 4, 4));
}

TEST(SimThreads, TheStepLimitIsOfAllBlocks) {
  Options options;
  options.step_limit = 2000000;
  // Turns are what is counted: the loop is longer than one.
  const std::string body = linear_block() +
                           "mov.u32 %r41, 3000; MORE: sub.u32 %r41, %r41, 1; setp.ne.u32 %p18, %r41, 0;\n"
                           "@%p18 bra MORE; st.global.u32 [%d4], %r2;";
  const Result one = expect_same(body, Expected::alone, options);
  EXPECT_EQ(one.whole.count(FindingKind::step_limit), 1u);
}

TEST(SimThreads, Reductions) {
  // A histogram of the block's own words and of all blocks, and extremes; the first buffer only, which is
  // filled.
  const std::string body =
      linear_block() +
      "setp.gt.u32 %p1, %r4, 390; @%p1 ret;\n"
      "ld.global.u32 %r10, [%d3+1024]; and.b32 %r11, %r10, 63; mul.wide.u32 %d6, %r11, 4; add.u64 %d6, %d6, "
      "%d1;\n"
      "red.global.add.u32 [%d6], 1; red.global.add.u32 [%d6], %r0; st.global.u32 [%d4], %r10;\n";
  const Result one = expect_same(body, Expected::together);
  EXPECT_TRUE(one.whole.clean()) << one.whole.text();
  for (const char* operation : {"and.b32", "or.b32", "xor.b32", "min.u32", "max.u32", "min.s32", "max.s32"})
    expect_same(
        linear_block() + format_text("xor.b32 %r10, %r2, 0x80001234; red.relaxed.gpu.global.{} [%d1+8], "
                                     "%r10; st.global.u32 [%d4], %r10;",
                                     operation),
        Expected::together);
  for (const char* operation : {"add.u64", "min.s64", "max.s64", "min.u64", "max.u64", "xor.b64"})
    expect_same(linear_block() +
                    format_text("cvt.s64.s32 %d6, %r2; mul.lo.s64 %d6, %d6, -77777777777;\n"
                                "and.b32 %r11, %r2, 7; mul.wide.u32 %d7, %r11, 8; add.u64 %d7, %d7, %d1;\n"
                                "red.global.{} [%d7], %d6;",
                                operation),
                Expected::together);
}

TEST(SimThreads, ReductionsThatMeetOtherAccesses) {
  // One block reads; one block writes; two kinds at one place; each of no use to another thread.
  for (const char* more :
       {"@%p1 ld.global.u32 %r10, [%d1]; @%p1 st.global.u32 [%d4], %r10;", "@%p1 st.global.u32 [%d1], %r2;",
        "@%p1 red.global.max.u32 [%d1], 7777;", "@%p1 red.global.add.u64 [%d1], 1;"})
    for (const bool checks : {true, false})
      for (const std::uint32_t which : {0u, 399u}) {
        Options options;
        options.races = options.initialized = checks;
        expect_same(
            linear_block() +
                format_text("red.global.add.u32 [%d1], %r0; setp.eq.u32 %p1, %r4, {}; {}", which, more),
            Expected::alone, options);
      }
  // Memory that holds nothing yet: only the first of several blocks, on several threads, finds that.
  const Result one =
      expect_same(linear_block() + "setp.lt.u32 %p1, %r4, 200; @%p1 ret; red.global.add.u32 [%d2+64], %r0;",
                  Expected::alone);
  EXPECT_EQ(one.whole.findings.size(), 1u);
  // A scope that does not reach other blocks.
  EXPECT_GT(expect_same(linear_block() + "red.cta.global.add.u32 [%d1], 1;", Expected::alone).whole.races(),
            0u);
}

TEST(SimThreads, FencesAndOtherAtomicsAreForOneThread) {
  expect_same(linear_block() + "st.global.u32 [%d4], %r2; membar.gl;", Expected::alone);
  expect_same(linear_block() + "atom.global.add.u32 %r10, [%d1], 1; st.global.u32 [%d4], %r10;",
              Expected::alone);
  // .inc wraps at what each block says.
  expect_same(linear_block() + "and.b32 %r10, %r4, 15; red.global.inc.u32 [%d1], %r10;", Expected::alone);
  expect_same(linear_block() + "and.b32 %r10, %r4, 15; red.global.dec.u32 [%d1], %r10;", Expected::alone);
  expect_same(linear_block() + "mov.f32 %f1, 0f3DCCCCCD; red.global.add.f32 [%d1], %f1;", Expected::alone);
}

TEST(SimThreads, ASmallLaunchStaysOnOneThread) {
  TestRun small(module_text("ret;", 0));
  small.options.host_threads = 8;
  EXPECT_EQ(small.run({64, 1, 1}, {32, 1, 1}).host_threads, 1u);
}

TEST(SimThreads, RandomKernels) {
  std::mt19937 random(20261115);
  const auto any = [&](std::uint32_t count) { return static_cast<std::uint32_t>(random() % count); };
  int together = 0;
  for (int round = 0; round < 16; ++round) {
    std::string body = linear_block() + "mov.u32 %r10, %r2; mov.u32 %r20, 0;\n";
    const bool racy = any(3) == 0;
    for (std::uint32_t i = 0, count = 3 + any(6); i < count; ++i) {
      // A place in the block's own words of one buffer, or anywhere in both.
      const bool own = !racy || any(4) != 0;
      const char* const base = any(2) == 0 ? "%d1" : "%d2";
      const std::uint32_t log = any(4), bytes = 1u << log;
      static constexpr const char* kTypes[] = {"u8", "u16", "u32", "u64"};
      const std::string value = log == 3 ? "%d20" : "%r20";
      body += format_text("mul.lo.u32 %r11, %r0, {}; add.u32 %r11, %r11, {};\n", 1 + 2 * any(3), any(64));
      body += format_text("rem.u32 %r11, %r11, {}; mul.lo.u32 %r11, %r11, {};\n", 384 / bytes, bytes);
      if (own)
        body += "mad.lo.u32 %r11, %r4, 384, %r11;\n";
      else
        body += format_text(
            "add.u32 %r12, %r4, {}; rem.u32 %r12, %r12, 397; mad.lo.u32 %r11, %r12, 384, %r11;\n", any(3));
      body += format_text("cvt.u64.u32 %d6, %r11; add.u64 %d6, %d6, {}; setp.lt.u32 %p1, %r0, {};\n", base,
                          20 + any(90));
      const bool writes = own ? any(2) == 0 : any(3) == 0;
      const std::string guard = any(3) == 0 ? "@%p1 " : "";
      if (writes)
        body += format_text("cvt.u64.u32 %d20, %r20; add.u32 %r20, %r20, %r0; {}st.global.{} [%d6], {};\n",
                            guard, kTypes[log], value);
      else
        body += format_text("mov.u64 %d20, 0; {}ld.global.{} {}, [%d6]; {}\n", guard, kTypes[log], value,
                            log == 3 ? "cvt.u32.u64 %r20, %d20;" : "");
      if (any(3) == 0) body += "bar.sync 0;\n";
    }
    Options options;
    options.races = any(4) != 0;
    options.initialized = any(2) != 0;
    // What a load finds that nobody wrote is followed by one thread.
    const bool apart = !racy && !options.initialized;
    expect_same(body, apart ? Expected::together : Expected::either, options);
    if (apart) ++together;
    if (HasFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(together, 3);
}

}  // namespace
}  // namespace gpuforge::sim
