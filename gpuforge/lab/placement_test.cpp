#include "gpuforge/lab/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/array/context_for_tests.h"

namespace gpuforge::lab {
namespace {

constexpr Placement kAll[] = {Placement::contiguous, Placement::transposed, Placement::spread,
                              Placement::shifted};

class LabPlacement : public ArrayTest {
 protected:
  std::vector<std::byte> counting_bytes(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7);
    return bytes;
  }
  PlacedOperand placed(const Shape& shape, Placement placement, DType dtype = DType::f16) {
    return place(context_, {.name = "x", .dtype = dtype, .shape = shape}, placement, *stream_);
  }
  bool margins() { return context_->device().facts().kind != device::DeviceKind::sim; }
};
INSTANTIATE_TEST_SUITE_P(Cpu, LabPlacement, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, LabPlacement, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, LabPlacement, testing::Values("cuda:0"));

TEST_P(LabPlacement, WhatIsWrittenIsReadBack) {
  for (const Placement placement : kAll) {
    for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 4}, Shape{7}, Shape{1, 1}, Shape{}, Shape{0, 4}}) {
      const PlacedOperand one = placed(shape, placement);
      EXPECT_EQ(one.view.shape(), shape);
      const std::vector<std::byte> elements = counting_bytes(one.view.bytes());
      write_operand(one, 0x53, elements, *stream_);
      const ReadBack read = read_operand(one, 0x53, *stream_);
      EXPECT_EQ(read.elements, elements);
      EXPECT_EQ(read.damage, "");
      std::vector<std::byte> through_the_array(one.view.bytes());
      one.view.to_host(through_the_array, *stream_);
      EXPECT_EQ(through_the_array, elements);
    }
  }
}

TEST_P(LabPlacement, LiesAsItsNameSays) {
  EXPECT_TRUE(placed({4, 6}, Placement::contiguous).view.contiguous());
  EXPECT_EQ(placed({4, 6}, Placement::transposed).view.strides(), (Strides{1, 4}));
  EXPECT_EQ(placed({4, 6}, Placement::spread).view.strides(), (Strides{12, 2}));
  EXPECT_EQ(placed({4, 6}, Placement::shifted).view.strides(), (Strides{7, 1}));
  // What vectorised kernels look at.
  EXPECT_EQ(placed({4, 6}, Placement::contiguous).view.address() % 256, 0u);
  EXPECT_EQ(placed({4, 6}, Placement::shifted).view.address() % 16, 2u);
}

TEST_P(LabPlacement, BytesAroundAndBetweenAreWatched) {
  const auto damage = [&](Placement placement, std::size_t at, std::size_t bytes) {
    const PlacedOperand one = placed({3, 4}, placement);
    write_operand(one, 0xff, {}, *stream_);
    stream_->fill(one.storage.address() + at, 0, 1, bytes);
    return read_operand(one, 0xff, *stream_).damage;
  };
  const std::size_t margin = margins() ? 256 : 0;
  EXPECT_EQ(damage(Placement::contiguous, margin, 24), "");
  EXPECT_EQ(damage(Placement::spread, margin + 2, 1), "1 byte between its elements");
  EXPECT_EQ(damage(Placement::shifted, margin, 12),
            "2 bytes before its first element, 2 bytes between its elements");
  if (!margins()) return;  // the simulator itself sees what follows
  EXPECT_EQ(damage(Placement::contiguous, margin - 3, 5), "3 bytes before its first element");
  EXPECT_EQ(damage(Placement::contiguous, margin + 20, 6), "2 bytes after its last element");
}

}  // namespace
}  // namespace gpuforge::lab
