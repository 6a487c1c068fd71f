#include "gpuforge/array/array_index.h"

#include "gpuforge/array/context_for_tests.h"

namespace gpuforge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ArrayIndexTest : public ArrayTest {
 protected:
  Array at(const Array& array, const std::vector<IndexItem>& items) { return index_view(array, items); }
};
INSTANTIATE_TEST_SUITE_P(Cpu, ArrayIndexTest, testing::Values("cpu"), device_case_name);

const Slice kAll{};

TEST_P(ArrayIndexTest, ItemsGoThroughTheAxesInOrder) {
  const Array array = counting({2, 3, 4});
  EXPECT_THAT(ints(at(array, {1, Slice{0, 2, 1}, -1})), ElementsAre(15, 19));
  EXPECT_THAT(ints(at(array, {Ellipsis{}, 0})), ElementsAre(0, 4, 8, 12, 16, 20));
  EXPECT_EQ(at(array, {0, Ellipsis{}, NewAxis{}}).shape(), Shape({3, 4, 1}));
  EXPECT_EQ(at(array, {NewAxis{}, kAll, 2}).shape(), Shape({1, 2, 4}));
  EXPECT_THAT(ints(at(array, {1, 2, 3})), ElementsAre(23));
  EXPECT_EQ(at(array, {}).shape(), array.shape());
  EXPECT_EQ(at(array, {Ellipsis{}}).shape(), array.shape());
  EXPECT_EQ(at(array, {kAll, kAll, kAll, Ellipsis{}}).shape(), array.shape());
  EXPECT_EQ(at(at(array, {Slice{{}, {}, -2}, NewAxis{}}), {Ellipsis{}, NewAxis{}}).shape(),
            Shape({1, 1, 3, 4, 1}));
}

TEST_P(ArrayIndexTest, WhatIsNotThereIsSaid) {
  const Array array = counting({2, 3});
  EXPECT_THAT(error_of([&] { at(array, {0, 0, 0}); }), HasSubstr("has 2 axes, 3 were indexed"));
  EXPECT_THAT(error_of([&] { at(array, {0, 3}); }), HasSubstr("3 is not in axis 0 of extent 3"));
  EXPECT_THAT(error_of([&] { at(array, {Ellipsis{}, Ellipsis{}}); }), HasSubstr("one ellipsis"));
  EXPECT_THAT(error_of([&] { at(array, {Slice{0, 1, 0}}); }), HasSubstr("step other than zero"));
}

// Memory of somebody else: seen as it is, kept until the last view is gone.
TEST_P(ArrayIndexTest, ForeignMemoryIsUsedWhereItIs) {
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
