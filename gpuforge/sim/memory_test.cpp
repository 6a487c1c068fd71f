#include "gpuforge/sim/memory.h"

#include <gtest/gtest.h>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

TEST(Memory, SnapshotIsOrderedAndKeepsWhatWasRemoved) {
  Memory memory;
  memory.add(0x3000, 16, "c", true);
  memory.add(0x1000, 16, "a", true);
  const auto before = memory.snapshot();
  memory.add(0x2000, 16, "b", true);
  memory.remove(0x1000);
  const auto after = memory.snapshot();
  ASSERT_EQ(before->size(), 2u);
  EXPECT_EQ((*before)[0]->label, "a");
  EXPECT_EQ((*before)[1]->label, "c");
  ASSERT_EQ(after->size(), 2u);
  EXPECT_EQ((*after)[0]->label, "b");
  EXPECT_EQ(memory.snapshot(), after);
}

TEST(Memory, RefusesOverlaps) {
  Memory memory;
  memory.add(0x1000, 0x100, "a", true);
  EXPECT_THROW(memory.add(0x10ff, 1, "b", true), Error);
  EXPECT_THROW(memory.add(0xfff, 2, "b", true), Error);
  EXPECT_THROW(memory.add(0x1000, 1, "b", true), Error);
  EXPECT_NO_THROW(memory.add(0x1100, 1, "b", true));
  EXPECT_NO_THROW(memory.add(0xfff, 1, "c", true));
}

TEST(Memory, RemembersFrees) {
  Memory memory;
  memory.add(0x1000, 16, "a", true);
  memory.add(0x2000, 16, "b", true);
  memory.remove(0x1000);
  memory.remove(0x2000);
  memory.remove(0x9000);  // nobody's
  ASSERT_EQ(memory.freed().size(), 2u);
  EXPECT_EQ(memory.freed()[0].label, "b");
  memory.add(0x100f, 4, "c", true);  // uses a byte of a again
  ASSERT_EQ(memory.freed().size(), 1u);
  EXPECT_EQ(memory.freed()[0].label, "b");
  for (std::uint64_t i = 0; i < 200; ++i) {
    memory.add(0x10000 + 64 * i, 64, "more", true);
    memory.remove(0x10000 + 64 * i);
  }
  EXPECT_EQ(memory.freed().size(), 64u);
}

TEST(Memory, MarksAcrossAllocations) {
  Memory memory;
  const auto a = memory.add(0x1000, 100, "a", false);
  const auto b = memory.add(0x1080, 100, "b", false);
  const auto c = memory.add(0x1100, 100, "c", false);
  memory.mark_initialized(0x1000 + 90, 0x80 + 20 - 90);  // the end of a and 20 bytes of b
  EXPECT_TRUE(all_written(a->initialized.get(), 90, 10));
  EXPECT_FALSE(all_written(a->initialized.get(), 89, 11));
  EXPECT_TRUE(all_written(b->initialized.get(), 0, 20));
  EXPECT_FALSE(all_written(b->initialized.get(), 20, 1));
  EXPECT_FALSE(b->initialized_whole);
  memory.mark_initialized(0x1080, 0x1000);
  EXPECT_TRUE(b->initialized_whole);
  EXPECT_TRUE(c->initialized_whole);
  EXPECT_FALSE(a->initialized_whole);
  memory.mark_initialized(0x10, 8);
  memory.mark_initialized(0x9000, 8);
  EXPECT_FALSE(all_written(a->initialized.get(), 0, 1));
}

TEST(Written, RangesAgainstBytes) {
  for (std::uint64_t first = 0; first < 130; first += 7)
    for (std::uint64_t count : {1u, 2u, 57u, 63u, 64u, 65u, 128u, 130u}) {
      std::uint64_t bits[6] = {};
      set_written(bits, first, count);
      for (std::uint64_t at = 0; at < 320; ++at) {
        const bool is_set = ((bits[at / 64] >> (at % 64)) & 1u) != 0;
        ASSERT_EQ(is_set, at >= first && at < first + count) << first << " " << count << " " << at;
      }
      EXPECT_TRUE(all_written(bits, first, count));
      EXPECT_FALSE(all_written(bits, first, count + 1));
      if (first > 0) {
        EXPECT_FALSE(all_written(bits, first - 1, count));
      }
      clear_written(bits, first + count / 2);
      EXPECT_FALSE(all_written(bits, first, count));
    }
}

TEST(WrittenBits, AWordBeyondTheLastByteIsThere) {
  for (const std::size_t bytes : {1u, 32u, 63u, 64u, 65u, 4096u})
    EXPECT_GE(written_words(bytes), (bytes + 63) / 64 + 1);
}

}  // namespace
}  // namespace gpuforge::sim
