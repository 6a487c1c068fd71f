#include "gpuforge/array/indexing.h"

#include "gpuforge/array/context_for_tests.h"

namespace gpuforge {
namespace {

using testing::ElementsAre;
using Items = std::vector<IndexItem>;

class Indexing : public ArrayTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, Indexing, testing::Values("cpu"), device_case_name);

Slice all() {
  return {};
}

TEST_P(Indexing, GivesNumPysShapes) {
  const Array x = counting({2, 3, 4});
  EXPECT_EQ(index_view(x, Items{}).shape(), (Shape{2, 3, 4}));
  EXPECT_THAT(ints(index_view(x, Items{std::int64_t{1}, std::int64_t{-1}})), ElementsAre(20, 21, 22, 23));
  EXPECT_EQ(ints(index_view(x, Items{std::int64_t{1}, std::int64_t{2}, std::int64_t{3}})),
            std::vector<std::int32_t>{23});
  const Array last = index_view(x, Items{Ellipsis{}, std::int64_t{0}});
  EXPECT_EQ(last.shape(), (Shape{2, 3}));
  EXPECT_THAT(ints(last), ElementsAre(0, 4, 8, 12, 16, 20));
  const Array mixed =
      index_view(x, Items{NewAxis{}, std::int64_t{0}, Slice{{}, {}, -2}, NewAxis{}, Ellipsis{}, NewAxis{}});
  EXPECT_EQ(mixed.shape(), (Shape{1, 2, 1, 4, 1}));
  EXPECT_THAT(ints(mixed), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3));
  EXPECT_EQ(index_view(x, Items{all(), Ellipsis{}, all(), all()}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(index_view(x, Items{Slice{2, 1, 1}, NewAxis{}}).shape(), (Shape{0, 1, 3, 4}));
  EXPECT_TRUE(mixed.shares_storage_with(x)) << "a view";
}

TEST_P(Indexing, RefusesWithTheAxis) {
  const Array x = counting({2, 3});
  EXPECT_EQ(error_of([&] {
              index_view(x, Items{std::int64_t{0}, std::int64_t{3}});
            }),
            "invalid_argument: index: 3 is not in axis 1 of extent 3");
  EXPECT_EQ(error_of([&] {
              index_view(x, Items{Ellipsis{}, std::int64_t{-4}});
            }),
            "invalid_argument: index: -4 is not in axis 1 of extent 3");
  EXPECT_EQ(error_of([&] {
              index_view(x, Items{all(), all(), all()});
            }),
            "invalid_argument: index: an array of shape [2, 3] has 2 axes; 3 were indexed");
  EXPECT_EQ(error_of([&] {
              index_view(x, Items{Ellipsis{}, Ellipsis{}});
            }),
            "invalid_argument: index: at most one ellipsis was expected; found 2");
  EXPECT_EQ(error_of([&] {
              index_view(x, Items{all(), Slice{{}, {}, 0}});
            }),
            "invalid_argument: index: a step other than zero was expected for axis 1");
  EXPECT_EQ(error_of([&] { index_view(x, Items(17, NewAxis{})); }).substr(0, 16), "invalid_argument");
}

}  // namespace
}  // namespace gpuforge
