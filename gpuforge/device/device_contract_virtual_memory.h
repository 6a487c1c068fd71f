// The part of the Device contract about virtual memory. A test header: not installed.
#pragma once

#include "gpuforge/device/device_contract.h"

namespace gpuforge::device {

class VirtualMemoryContract : public DeviceContract {
 protected:
  void SetUp() override {
    DeviceContract::SetUp();
    if (device_ == nullptr) return;
    memory_ = device_->virtual_memory();
    if (memory_ == nullptr) GTEST_SKIP() << device_name() << " has no virtual memory";
    unit_ = memory_->granularity();
    ASSERT_GT(unit_, 0u);
  }

  std::vector<std::shared_ptr<PhysicalBlock>> blocks(std::size_t count) {
    std::vector<std::shared_ptr<PhysicalBlock>> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(memory_->make_block(unit_));
    return made;
  }

  VirtualMemory* memory_ = nullptr;
  std::size_t unit_ = 0;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(VirtualMemoryContract);

TEST_P(VirtualMemoryContract, MappedBlocksAreMemoryInOnePiece) {
  const auto range = memory_->reserve(8 * unit_);
  EXPECT_EQ(range->bytes(), 8 * unit_);
  EXPECT_EQ(range->address() % unit_, 0u);
  range->map(2 * unit_, blocks(3));
  const Address begin = range->address() + 2 * unit_;
  stream_->fill(begin, 0x21, 1, 3 * unit_);
  stream_->fill(begin + unit_ - 4, 0x43434343, 4, 2);  // across a border
  const std::vector<std::uint8_t> out = read(begin, 3 * unit_);
  EXPECT_EQ(out[0], 0x21);
  EXPECT_EQ(out[unit_ - 5], 0x21);
  EXPECT_EQ(out[unit_ - 4], 0x43);
  EXPECT_EQ(out[unit_ + 3], 0x43);
  EXPECT_EQ(out[unit_ + 4], 0x21);
  EXPECT_EQ(out[3 * unit_ - 1], 0x21);
}

TEST_P(VirtualMemoryContract, ABlockKeepsItsBytesWhereverItIsMapped) {
  const auto first = memory_->reserve(4 * unit_);
  const auto second = memory_->reserve(4 * unit_);
  const auto made = blocks(2);
  first->map(0, made);
  stream_->fill(first->address(), 0x11, 1, unit_);
  stream_->fill(first->address() + unit_, 0x22, 1, unit_);
  stream_->synchronize();
  first->unmap(0, 2 * unit_);
  second->map(unit_, {&made[1], 1});
  second->map(3 * unit_, {&made[0], 1});
  EXPECT_EQ(read(second->address() + unit_, unit_), std::vector<std::uint8_t>(unit_, 0x22));
  EXPECT_EQ(read(second->address() + 3 * unit_, unit_), std::vector<std::uint8_t>(unit_, 0x11));
  // And back, to the same address.
  second->unmap(unit_, unit_);
  first->map(0, {&made[1], 1});
  EXPECT_EQ(read(first->address(), unit_), std::vector<std::uint8_t>(unit_, 0x22));
}

TEST_P(VirtualMemoryContract, RangesAreAlignedAsAsked) {
  const std::size_t alignment = 64 * unit_;
  const auto a = memory_->reserve(unit_, alignment);
  const auto b = memory_->reserve(3 * unit_, alignment);
  EXPECT_EQ(a->address() % alignment, 0u);
  EXPECT_EQ(b->address() % alignment, 0u);
  b->map(2 * unit_, blocks(1));
  stream_->fill(b->address() + 2 * unit_, 1, 1, unit_);
  stream_->synchronize();
}

TEST_P(VirtualMemoryContract, MistakesAreRefusedAndChangeNothing) {
  const auto range = memory_->reserve(4 * unit_);
  const auto made = blocks(2);
  range->map(unit_, made);
  stream_->fill(range->address() + unit_, 0x77, 1, 2 * unit_);
  const auto more = blocks(2);
  expect_refused([&] { range->map(2 * unit_, more); }, device_name());  // one is mapped already
  expect_refused([&] { range->map(0, more); }, device_name());          // the same from the other side
  expect_refused([&] { range->map(3 * unit_, more); }, device_name());  // past the end
  expect_refused([&] { range->map(100 * unit_, more); }, device_name());
  expect_refused([&] { range->map(3 * unit_ + 1, {&more[0], 1}); }, device_name());
  expect_refused([&] { range->unmap(0, unit_); }, device_name());          // nothing there
  expect_refused([&] { range->unmap(unit_, 3 * unit_); }, device_name());  // not all of it
  expect_refused([&] { range->unmap(unit_, unit_ / 2); }, device_name());
  const std::shared_ptr<PhysicalBlock> none;
  expect_refused([&] { range->map(0, {&none, 1}); }, device_name());
  expect_refused([&] { memory_->reserve(0); }, device_name());
  expect_refused([&] { memory_->reserve(unit_ + 1); }, device_name());
  expect_refused([&] { memory_->reserve(unit_, 3); }, device_name());
  expect_refused([&] { memory_->make_block(0); }, device_name());
  expect_refused([&] { memory_->make_block(unit_ - 1); }, device_name());
  EXPECT_EQ(read(range->address() + unit_, 2 * unit_), std::vector<std::uint8_t>(2 * unit_, 0x77));
  const auto other = another_device();
  const std::shared_ptr<PhysicalBlock> foreign = other->virtual_memory()->make_block(unit_);
  expect_refused([&] { range->map(0, {&foreign, 1}); }, device_name());
  range->map(0, {&more[0], 1});
}

TEST_P(VirtualMemoryContract, TooMuchIsAnErrorWithBothNumbers) {
  const std::size_t large = std::size_t{1} << 60;
  std::string message;
  EXPECT_EQ(code_of([&] { memory_->make_block(large); }, &message), ErrorCode::out_of_memory);
  EXPECT_THAT(message, testing::StartsWith(device_name()));
  EXPECT_THAT(message, testing::HasSubstr(std::to_string(large) + " bytes"));
  EXPECT_THAT(message, testing::HasSubstr("free"));
  EXPECT_EQ(memory_->make_block(unit_)->bytes(), unit_);
}

TEST_P(VirtualMemoryContract, AddressesCostNoMemory) {
  const std::size_t much = device_->memory_info().total_bytes / unit_ * unit_ * 4;
  const auto range = memory_->reserve(much);
  range->map(much - unit_, blocks(1));
  stream_->fill(range->address() + much - unit_, 5, 1, unit_);
  EXPECT_EQ(read(range->address() + much - 1, 1)[0], 5);
}

TEST_P(VirtualMemoryContract, ObjectsKeepWhatTheyNeedOfTheirDevice) {
  auto range = memory_->reserve(2 * unit_);
  auto made = blocks(1);
  range->map(0, made);
  stream_->fill(range->address(), 1, 1, unit_);
  stream_->synchronize();
  stream_.reset();
  device_.reset();
  made.clear();  // still mapped
  range->unmap(0, unit_);
  range.reset();
}

TEST_P(VirtualMemoryContract, EnqueuedWorkMayHoldTheLastReferences) {
  std::shared_ptr<AddressRange> range = memory_->reserve(2 * unit_);
  range->map(0, blocks(2));
  stream_->fill(range->address(), 1, 1, 2 * unit_);
  const std::weak_ptr<AddressRange> watched = range;
  stream_->enqueue([kept = std::move(range)] {});
  stream_->synchronize();
  EXPECT_TRUE(watched.expired());
}

}  // namespace gpuforge::device
