#include "gpuforge/layout/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "gpuforge/base/error.h"
#include "gpuforge/layout/expression.h"

namespace gpuforge::layout {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Mapping as_memory(const Value& value) {
  if (const auto* const plain = std::get_if<Layout>(&value.is)) return *plain;
  if (const auto* const composed = std::get_if<ComposedLayout>(&value.is)) return *composed;
  return std::get<SwizzledLayout>(value.is);
}

WarpAccess plain_access(std::string_view text, std::string_view type, Space space = Space::shared,
                        bool is_load = true) {
  const Mapping layout = as_memory(evaluate(text));
  const AccessRequest request{.type = parse_access(type), .space = space, .is_load = is_load};
  return warp_access(threads_in_order(layout, request.type.elements), layout, request);
}

WarpAccess tv_access(std::string_view threads, std::string_view values, std::string_view memory,
                     std::string_view type, Space space = Space::shared) {
  const ThreadValueLayout by = make_layout_tv(parse_layout(threads), parse_layout(values));
  return warp_access(by, as_memory(evaluate(memory)), {.type = parse_access(type), .space = space});
}

template <class Run>
std::string complaint(const Run& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  return "nothing was thrown";
}

TEST(Access, TypesAreAnElementAndACount) {
  const AccessType half8 = parse_access("f16x8");
  EXPECT_EQ(half8.element_bytes, 2);
  EXPECT_EQ(half8.elements, 8);
  EXPECT_EQ(half8.bytes(), 16);
  EXPECT_EQ(parse_access("f32").bytes(), 4);
  EXPECT_EQ(parse_access("bf16x2").bytes(), 4);
  EXPECT_EQ(parse_access("u8x16").bytes(), 16);
  EXPECT_EQ(parse_access("f64").bytes(), 8);
  EXPECT_EQ(parse_access("b128").bytes(), 16);
  EXPECT_EQ(parse_access("f32x8").bytes(), 32);
  for (const char* bad : {"", "x", "f16x", "x8", "f16x0", "f16x-1", "f16x3", "f16x8x2", "f17", "f16 x8",
                          "f64x8", "u8x64", "f16x99999999999999999999"})
    EXPECT_THAT(complaint([&] { parse_access(bad); }), HasSubstr("access: ")) << bad;
}

// Word after word, as hardware would: every pass takes at most one word of each bank.
std::int64_t passes(std::set<std::int64_t> words) {
  std::int64_t count = 0;
  while (!words.empty()) {
    std::set<std::int64_t> busy;
    for (auto at = words.begin(); at != words.end();)
      at = busy.insert(*at % 32).second ? words.erase(at) : std::next(at);
    ++count;
  }
  return count;
}

TEST(Access, CostsAreThoseOfEnumeration) {
  std::mt19937 engine(3);
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t bytes = std::int64_t{1} << (engine() % 5);
    WarpAddresses addresses;
    for (auto& address : addresses)
      if (engine() % 8 != 0) address = static_cast<std::int64_t>(engine() % 512) * bytes;
    std::int64_t wavefronts = 0;
    std::set<std::int64_t> sectors;
    const int group = bytes <= 4 ? 32 : static_cast<int>(128 / bytes);
    for (int first = 0; first < 32; first += group) {
      std::set<std::int64_t> words;
      for (int thread = first; thread < first + group; ++thread) {
        const auto address = addresses[static_cast<unsigned>(thread)];
        for (std::int64_t byte = 0; address && byte < bytes; ++byte) {
          words.insert((*address + byte) / 4);
          sectors.insert((*address + byte) / 32);
        }
      }
      wavefronts += passes(words);
    }
    ASSERT_EQ(shared_cost(addresses, bytes, false).wavefronts, wavefronts) << round;
    ASSERT_EQ(global_cost(addresses, bytes).sectors.size(), sectors.size()) << round;
  }
}

TEST(Access, AColumnOfVectorsConflictsUntilItIsSwizzled) {
  const WarpAccess plain = plain_access("(8,64):(64,1)", "f16x8");
  EXPECT_EQ(plain.shared->wavefronts, 32);
  EXPECT_EQ(plain.shared->ideal, 4);
  EXPECT_THAT(plain.in_conflict, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(plain.conflict_bank, 0);
  EXPECT_EQ(
      plain.sentence,
      "8-way bank conflict: 32 wavefronts instead of 4. Threads 0 to 7 want different words of bank 0 in "
      "the same phase.");
  const WarpAccess swizzled = plain_access("Sw<3,3,3> o 0 o (8,64):(64,1)", "f16x8");
  EXPECT_EQ(swizzled.shared->wavefronts, 4);
  EXPECT_TRUE(swizzled.in_conflict.empty());
  EXPECT_EQ(
      swizzled.sentence,
      "Conflict-free: 4 wavefronts, one for each phase of 8 threads (128 bytes). No bank is asked for two "
      "words at a time.");
}

TEST(Access, PaddingFreesAColumn) {
  EXPECT_EQ(plain_access("(32,32):(32,1)", "f32").shared->wavefronts, 32);
  EXPECT_EQ(plain_access("(32,32):(33,1)", "f32").shared->wavefronts, 1);
}

TEST(Access, TheThreadsThatWaitAreNamed) {
  const WarpAccess access = plain_access("(8,4):(4,256)", "f32");
  EXPECT_THAT(access.in_conflict, ElementsAre(0, 8, 16, 24));
  EXPECT_THAT(access.sentence,
              HasSubstr("4-way bank conflict: 4 wavefronts instead of 1. Threads 0, 8, 16 and "
                        "24 want different words of bank 0."));
}

TEST(Access, TheSameWordIsNoConflict) {
  const WarpAccess same = plain_access("32:0", "f32");
  EXPECT_EQ(same.shared->wavefronts, 1);
  EXPECT_THAT(same.sentence, HasSubstr("Threads that read the same word share it."));
  // Two threads for each of two words of bank 0: one of each is named.
  const WarpAccess pairs = plain_access("(2,2):(0,32)", "f32");
  EXPECT_THAT(pairs.in_conflict, ElementsAre(0, 2));
}

TEST(Access, LoadsThatShareInPairsTakeTwiceTheThreads) {
  EXPECT_EQ(plain_access("(2,16,2):(0,2,1)", "f32x2").shared->wavefronts, 1);
  EXPECT_EQ(plain_access("(2,16,2):(0,2,1)", "f32x2", Space::shared, false).shared->wavefronts, 2);
}

TEST(Access, SectorsSayWhatIsUsed) {
  const WarpAccess column = plain_access("(32,32):(32,1)", "f32", Space::global);
  EXPECT_EQ(column.global->sectors.size(), 32u);
  EXPECT_EQ(column.sentence,
            "32 sectors of 32 bytes for 128 bytes asked for: 12.5% of the 1024 bytes that move are used. "
            "Neighbouring "
            "threads are 128 bytes apart.");
  const WarpAccess row = plain_access("(32,32):(1,32)", "f32", Space::global);
  EXPECT_EQ(row.sentence, "4 sectors of 32 bytes for 128 bytes asked for: every byte that moves is used.");
}

TEST(Access, ThreadsOfAPlainLayoutGoByCoordinates) {
  const WarpAccess rows = plain_access("(8,64):(64,1)", "f16x8");
  EXPECT_EQ(rows.threads[1].index, 64);  // the next row
  EXPECT_EQ(rows.threads[8].index, 8);   // the next vector of the first row
  EXPECT_THAT(rows.threads[1].coordinates, ElementsAre(1, 9, 17, 25, 33, 41, 49, 57));
  const WarpAccess columns = plain_access("(64,8):(1,64)", "f16x8");
  EXPECT_EQ(columns.threads[1].index, 8);
  const WarpAccess nested = plain_access("((2,4),8):((1,2),8)", "f16x8");
  EXPECT_EQ(nested.threads[1].index, 8);
  EXPECT_EQ(nested.threads.size(), 8u);
}

TEST(Access, ThreadsOfATvLayoutHaveTheirFirstValues) {
  const WarpAccess access = tv_access("(4,8):(8,1)", "(1,8):(8,1)", "(4,64):(64,1)", "f16x8", Space::global);
  EXPECT_EQ(access.threads[9].index, 64 + 8);
  EXPECT_EQ(access.global->sectors.size(), 16u);
  EXPECT_EQ(access.global->bytes, 512);
}

TEST(Access, WhatIsNoAccessIsRefused) {
  EXPECT_THAT(complaint([] { tv_access("(4,8):(8,1)", "(1,8):(8,1)", "(4,64):(1,4)", "f16x8"); }),
              HasSubstr("thread 0 cannot access its first 8 elements at once: element 1 has index 4"));
  EXPECT_THAT(complaint([] { tv_access("(4,8):(8,1)", "(1,8):(8,1)", "(4,63):(64,1)", "f16x8"); }),
              HasSubstr("the memory has shape (4,63), the tile (4,64)"));
  EXPECT_THAT(complaint([] { tv_access("32:1", "4:1", "128:1", "f16x8"); }), HasSubstr("has only 4 values"));
  EXPECT_THAT(complaint([] { plain_access("(8,64):(63,1)", "f16x8"); }), HasSubstr("no multiple of 8"));
  EXPECT_THAT(complaint([] { plain_access("(8,64):(64,2)", "f16x8"); }), HasSubstr("side by side"));
  EXPECT_THAT(complaint([] { plain_access("(8,64):(64,1)", "f32x8"); }), HasSubstr("at most 16 bytes"));
  EXPECT_THAT(complaint([] { plain_access("(0,64):(64,1)", "f16x8"); }), HasSubstr("has no threads"));
  EXPECT_THAT(complaint([] { plain_access("(2,2):(4611686018427387904,1)", "f64"); }),
              HasSubstr("too far away"));
  EXPECT_THAT(complaint([] {
                warp_access({IntTuple(32), parse_layout("(32,2):(2,1)")}, parse_layout("32:1"),
                            {.type = parse_access("f32x2")});
              }),
              HasSubstr("thread 16, value 0 of (32,2):(2,1) is element 32, outside of the tile 32"));
  EXPECT_THAT(complaint([] { plain_access("(M,64):(64,1)", "f16x8"); }), HasSubstr("unknown"));
  EXPECT_THAT(complaint([] { plain_access("Sw<3,2,4> o 0 o (8,64):(64,1)", "f16x8"); }),
              HasSubstr("cannot access its first 8 elements at once"));
}

}  // namespace
}  // namespace gpuforge::layout
