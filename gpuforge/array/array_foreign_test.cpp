#include <optional>
#include <vector>

#include "gpuforge/array/context_for_tests.h"

namespace gpuforge {
namespace {

using testing::ElementsAre;

class ArrayForeignTest : public ArrayTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, ArrayForeignTest, testing::Values("cpu"), device_case_name);

// Memory of somebody else: seen as it is, kept until the last view is gone.
TEST_P(ArrayForeignTest, ForeignMemoryIsUsedWhereItIs) {
  auto owner = std::make_shared<std::vector<std::int32_t>>(std::vector<std::int32_t>{0, 1, 2, 3, 4, 5});
  const std::weak_ptr<std::vector<std::int32_t>> watch = owner;
  const auto address = reinterpret_cast<device::Address>(owner->data());
  std::optional<Array> view;
  {
    const Array columns = from_memory(context_, address, {3, 2}, {1, 3}, DType::i32, *stream_, owner);
    owner.reset();
    EXPECT_THAT(ints(columns), ElementsAre(0, 3, 1, 4, 2, 5));
    view = columns.index(1, 1);
  }
  ASSERT_FALSE(watch.expired());
  view->fill(7, *stream_);
  stream_->synchronize();
  EXPECT_THAT(*watch.lock(), ElementsAre(0, 1, 2, 7, 7, 7));
  view.reset();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace gpuforge
