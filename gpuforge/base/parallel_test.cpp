#include "gpuforge/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

TEST(ParallelRanges, CoverEveryItemOnce) {
  for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
    for (const std::int64_t grain : {0, 1, 3, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      parallel_ranges(count, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      for (const auto& times : seen) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ParallelRanges, ASmallRangeIsOnePiece) {
  std::atomic<int> calls{0};
  parallel_ranges(100, 100, [&](std::int64_t, std::int64_t) { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(ParallelRanges, WhatIsThrownComesOut) {
  EXPECT_THROW(parallel_ranges(1000, 1,
                               [](std::int64_t begin, std::int64_t) {
                                 if (begin == 0) throw Error(ErrorCode::io, "no");
                               }),
               Error);
}

}  // namespace
}  // namespace gpuforge
