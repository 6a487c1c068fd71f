#include "gpuforge/lab/host_bytes.h"

#include <gtest/gtest.h>

#include "gpuforge/base/convert.h"

namespace gpuforge::lab {
namespace {

TEST(LabHostBytes, BlocksCoverEverythingOnceAndDoNotDependOnThreads) {
  for (const std::size_t elements :
       {std::size_t{0}, std::size_t{1}, kBlockElements, 90 * kBlockElements + 7}) {
    std::vector<int> seen(elements);
    for_blocks(elements, [&](std::size_t block, std::size_t begin, std::size_t end) {
      EXPECT_EQ(begin, block * kBlockElements);
      for (std::size_t i = begin; i < end; ++i) ++seen[i];
    });
    EXPECT_EQ(seen, std::vector<int>(elements, 1));
  }
}

TEST(LabHostBytes, StoresWhatConversionGives) {
  std::vector<double> values(70 * kBlockElements + 5);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01 * static_cast<double>(i) - 1000;
  std::vector<std::byte> bytes(values.size() * 2);
  convert_elements(bytes.data(), DType::bf16, values.data(), DType::f64, values.size());
  EXPECT_EQ(as_stored(values, DType::bf16), bytes);
  EXPECT_TRUE(as_stored({}, DType::f32).empty());
}

TEST(LabHostBytes, CountsElementsAndNotBytes) {
  const std::size_t elements = 60 * kBlockElements + 3;
  const std::vector<std::byte> a(elements * 4);
  std::vector<std::byte> b = a;
  EXPECT_EQ(differences(a, b, 4).count, 0u);
  for (const std::size_t at : {20 * kBlockElements + 9, 40 * kBlockElements, elements - 1}) {
    b[at * 4 + 1] = std::byte{1};
    b[at * 4 + 3] = std::byte{7};
  }
  const Occurrences found = differences(a, b, 4);
  EXPECT_EQ(found.count, 3u);
  EXPECT_EQ(found.first, 20 * kBlockElements + 9);
  const Occurrences last = differences(
      a, b, 4, [&](const std::byte*, const std::byte* two) { return two == b.data() + (elements - 1) * 4; });
  EXPECT_EQ(last.count, 1u);
  EXPECT_EQ(last.first, elements - 1);
}

}  // namespace
}  // namespace gpuforge::lab
