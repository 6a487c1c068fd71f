#include "gpuforge/ops/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gpuforge/ops/unit_rows.h"

namespace gpuforge::ops {
namespace {

constexpr device::Address kAligned = 0x1000;

Rows rows_of(const Shape& shape, std::size_t axis) {
  return make_rows(shape, {row_major_strides(shape)}, axis);
}

TEST(Rows, TheOtherAxesMergeWhenTheyFollowEachOther) {
  const Rows last = rows_of({2, 3, 4, 5}, 3);
  EXPECT_EQ(last.length, 5);
  EXPECT_EQ(last.count, 24);
  EXPECT_EQ(last.extents, (Shape{24}));
  EXPECT_EQ(last.arrays[0].strides, (Strides{5}));
  EXPECT_TRUE(last.unit_rows(0));
  EXPECT_FALSE(last.unit_columns(0));

  const Rows first = rows_of({2, 3, 4, 5}, 0);
  EXPECT_EQ(first.extents, (Shape{60}));
  EXPECT_EQ(first.arrays[0].axis_stride, 60);
  EXPECT_FALSE(first.unit_rows(0));
  EXPECT_TRUE(first.unit_columns(0));
  EXPECT_EQ(first.columns(), 60);

  const Rows middle = rows_of({2, 3, 4, 5}, 1);
  EXPECT_EQ(middle.extents, (Shape{2, 20}));
  EXPECT_EQ(middle.arrays[0].strides, (Strides{60, 1}));
  EXPECT_EQ(middle.columns(), 20);
}

// Neighbours in every array, and one distance from a row to the next.
RowForm form_without_loads(const Rows& rows) {
  return row_form(rows, {}, 1);
}
TEST(Rows, UnitRowsAreToldInAFewWords) {
  const Strides packed = row_major_strides({4, 6}), apart{10, 1}, repeated{0, 1}, columns{1, 4}, weight{0, 2};
  const Rows rows = make_rows({4, 6}, {packed, apart, repeated}, 1);
  EXPECT_EQ(form_without_loads(rows), RowForm::unit);
  const UnitDeviceRows<3> told = unit_device_rows<3>(rows);
  EXPECT_EQ(told.length, 6);
  EXPECT_EQ(told.count, 4);
  EXPECT_EQ(told.strides, (std::array<std::int64_t, 3>{6, 10, 0}));
  EXPECT_EQ(form_without_loads(make_rows({4, 6}, {packed, columns}, 1)), RowForm::any);
  EXPECT_EQ(form_without_loads(make_rows({4, 6}, {packed, weight}, 1)), RowForm::any);
  EXPECT_EQ(form_without_loads(make_rows({4, 6}, {packed}, 0)), RowForm::any);
  EXPECT_EQ(form_without_loads(make_rows({2, 4, 6}, {{100, 6, 1}}, 2)), RowForm::any);
  // A single row, and rows of one element.
  EXPECT_EQ(form_without_loads(make_rows({6}, {{1}}, 0)), RowForm::unit);
  EXPECT_EQ(unit_device_rows<1>(make_rows({6}, {{1}}, 0)).strides[0], 0);
  EXPECT_EQ(form_without_loads(make_rows({4, 1}, {{1, 7}}, 1)), RowForm::unit);
}

// Every load of every array is aligned, and there is nothing besides.
TEST(Rows, WholeRowsAreOfAlignedVectors) {
  const auto form = [](std::int64_t length, std::int64_t stride, device::Address second) {
    const Rows rows = make_rows({4, length}, {{stride, 1}, {16, 1}}, 1);
    return row_form(rows, std::vector<RowStart>{{0, 0x1000, 2}, {1, second, 2}}, 8);
  };
  EXPECT_EQ(form(16, 24, 0x2000), RowForm::whole);
  EXPECT_EQ(form(15, 24, 0x2000), RowForm::unit);
  EXPECT_EQ(form(16, 20, 0x2000), RowForm::unit);
  EXPECT_EQ(form(16, 24, 0x2002), RowForm::unit);
}

TEST(Rows, OneRowHasNoOuterAxes) {
  const Rows rows = rows_of({1, 7, 1}, 1);
  EXPECT_EQ(rows.count, 1);
  EXPECT_TRUE(rows.extents.empty());
  EXPECT_TRUE(rows.unit_rows(0));
  EXPECT_EQ(rows.columns(), 1);
  EXPECT_EQ(rows_of({0, 7}, 1).count, 0);
  EXPECT_EQ(rows_of({7, 0}, 1).length, 0);
}

TEST(Rows, AxesMergeOnlyWhereAllArraysAllowIt) {
  const Shape shape{4, 3, 8};
  const Rows rows = make_rows(shape, {row_major_strides(shape), Strides{48, 16, 1}}, 2);
  EXPECT_EQ(rows.extents, (Shape{12}));  // both walk on
  const Rows apart = make_rows(shape, {row_major_strides(shape), Strides{100, 8, 1}}, 2);
  EXPECT_EQ(apart.extents, (Shape{4, 3}));
  EXPECT_EQ(apart.arrays[1].strides, (Strides{100, 8}));
}

// A transposed view is walked in the order its elements lie in memory.
TEST(Rows, AreSortedByTheFirstArray) {
  const Rows rows = make_rows({5, 4, 8}, {Strides{1, 5, 20}, Strides{32, 8, 1}}, 2);
  EXPECT_EQ(rows.extents, (Shape{4, 5}));
  EXPECT_EQ(rows.arrays[0].strides, (Strides{5, 1}));
  EXPECT_EQ(rows.arrays[1].strides, (Strides{8, 32}));
  EXPECT_TRUE(rows.unit_columns(0));
  EXPECT_FALSE(rows.unit_columns(1));
  const Rows broadcast = make_rows({6, 4, 8}, {Strides{0, 1, 4}}, 2);
  EXPECT_EQ(broadcast.extents, (Shape{6, 4})) << "where x stays is outermost";
}

TEST(Rows, EveryRowIsVisitedOnceWhateverTheStrides) {
  const Shape shape{3, 2, 5, 4};
  for (const Strides& strides : {row_major_strides(shape), Strides{1, 60, 3, 15}, Strides{-40, 20, -4, 1}}) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const Rows rows = make_rows(shape, {strides}, axis);
      std::vector<std::int64_t> found, expected;
      for (std::int64_t row = 0; row < rows.count; ++row) {
        for (std::int64_t at = 0; at < rows.length; ++at) {
          found.push_back(row_offset(rows, 0, row) + at * rows.arrays[0].axis_stride);
        }
      }
      for (std::int64_t i = 0; i < element_count(shape); ++i) {
        std::int64_t rest = i, offset = 0;
        for (std::size_t d = shape.size(); d > 0; --d) {
          offset += rest % shape[d - 1] * strides[d - 1];
          rest /= shape[d - 1];
        }
        expected.push_back(offset);
      }
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(found, expected) << to_string(strides) << " axis " << axis;
    }
  }
}

TEST(RowVector, OneArrayMayBeginAnywhere) {
  const Rows odd = rows_of({4, 1025}, 1);
  EXPECT_EQ(row_vector(odd, {{0, kAligned, 2}}, 8), 8);
  EXPECT_EQ(row_vector(odd, {{0, kAligned + 2, 2}}, 8), 8);
  EXPECT_EQ(row_vector(odd, {{0, kAligned, 4}}, 4), 4);
  EXPECT_EQ(row_vector(odd, {{0, kAligned, 4}}, 7), 4);
  EXPECT_EQ(row_vector(rows_of({4, 15}, 1), {{0, kAligned, 2}}, 8), 4) << "two vectors or more";
  EXPECT_EQ(row_vector(rows_of({4, 15}, 0), {{0, kAligned, 2}}, 8), 1) << "not neighbours";
}

TEST(RowVector, SeveralArraysMustAgreeOnTheHead) {
  const Shape shape{4, 1025};
  const Rows same = make_rows(shape, {Strides{1025, 1}, Strides{1025, 1}}, 1);
  EXPECT_EQ(row_vector(same, {{0, kAligned, 2}, {1, 2 * kAligned, 2}}, 8), 8);
  EXPECT_EQ(row_vector(same, {{0, kAligned, 2}, {1, 2 * kAligned, 4}}, 8), 8) << "counted in elements";
  EXPECT_EQ(row_vector(same, {{0, kAligned + 8, 2}, {1, kAligned, 2}}, 8), 4);
  EXPECT_EQ(row_vector(same, {{0, kAligned + 2, 2}, {1, kAligned, 2}}, 8), 1);
  const Rows pitched = make_rows(shape, {Strides{1025, 1}, Strides{1029, 1}}, 1);
  EXPECT_EQ(row_vector(pitched, {{0, kAligned, 2}, {1, kAligned, 2}}, 8), 4);
  const Rows backwards = make_rows(shape, {Strides{-1025, 1}, Strides{-1025, 1}}, 1);
  EXPECT_EQ(row_vector(backwards, {{0, kAligned, 2}, {1, kAligned, 2}}, 8), 8);
  const Rows reversed = make_rows(shape, {Strides{1025, -1}, Strides{1025, 1}}, 1);
  EXPECT_EQ(row_vector(reversed, {{0, kAligned, 2}, {1, kAligned, 2}}, 8), 1);
}

TEST(ColumnVector, IsAsWideAsEveryStrideAllows) {
  EXPECT_EQ(column_vector(rows_of({100, 64}, 0), {{0, kAligned, 2}}, 8), 8);
  EXPECT_EQ(column_vector(rows_of({100, 64}, 0), {{0, kAligned + 8, 2}}, 8), 4);
  EXPECT_EQ(column_vector(rows_of({100, 66}, 0), {{0, kAligned, 2}}, 8), 2);
  EXPECT_EQ(column_vector(rows_of({100, 65}, 0), {{0, kAligned, 2}}, 8), 1);
  EXPECT_EQ(column_vector(rows_of({3, 100, 12}, 1), {{0, kAligned, 4}}, 8), 4);
  EXPECT_EQ(column_vector(rows_of({100, 64}, 1), {{0, kAligned, 2}}, 8), 1) << "these are rows";
  const Rows pitched = make_rows({100, 64}, {Strides{70, 1}}, 0);
  EXPECT_EQ(column_vector(pitched, {{0, kAligned, 2}}, 8), 2);
}

TEST(DeviceRows, HaveTheSameNumbers) {
  const Rows rows = make_rows({2, 3, 4}, {Strides{12, 4, 1}, Strides{4, 0, 1}}, 1);
  const DeviceRows<2> device = device_rows<2>(rows);
  EXPECT_EQ(device.length, 3);
  EXPECT_EQ(device.count, 8);
  EXPECT_EQ(device.rank, 2);
  EXPECT_EQ(device.extents[1], 4);
  EXPECT_EQ(device.strides[0][0], 12);
  EXPECT_EQ(device.strides[1][0], 4);
  EXPECT_EQ(device.axis_strides[0], 4);
  EXPECT_EQ(device.axis_strides[1], 0);
}

}  // namespace
}  // namespace gpuforge::ops
