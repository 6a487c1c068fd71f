#include "gpuforge/ops/reason.h"

#include <gtest/gtest.h>

namespace gpuforge::ops {
namespace {

TEST(Reason, WritesItsNumbers) {
  EXPECT_EQ(Reason("tuned on this device").text(), "tuned on this device");
  EXPECT_EQ(Reason("{} threads", 32).text(), "32 threads");
  EXPECT_EQ(Reason("{} of {}, {} and {}", -1, std::int64_t{1} << 40, 3u, 4).text(),
            "-1 of 1099511627776, 3 and 4");
  const Reason copy = Reason("{}{}", 1, 2);
  EXPECT_EQ(copy.text(), "12");
}

}  // namespace
}  // namespace gpuforge::ops
