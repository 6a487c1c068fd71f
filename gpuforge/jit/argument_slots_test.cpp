#include "gpuforge/jit/argument_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "gpuforge/base/error.h"

namespace gpuforge::jit {
namespace {

using testing::HasSubstr;

Entry saxpy() {
  Entry entry;
  entry.name = entry.expression = "saxpy";
  entry.parameters = {
      {.bytes = 8, .ptx_type = "u64", .declared_type = "const float*", .name = "x"},
      {.bytes = 4, .ptx_type = "f32", .declared_type = "float", .name = "a"},
      {.bytes = 4, .ptx_type = "u32", .declared_type = "unsigned int", .name = "n"},
      {.bytes = 1, .ptx_type = "u8", .declared_type = "signed char", .name = "s"},
      {.bytes = 2, .ptx_type = "b16", .declared_type = "__half", .name = "h"},
      {.bytes = 24, .ptx_type = "b8[24]", .declared_type = "Layout", .name = "l"},
      {.bytes = 8, .ptx_type = "u64", .declared_type = "", .name = ""},
  };
  return entry;
}

std::string refusal(const Entry& entry, std::size_t index, auto value) {
  std::uint64_t to = 0;
  const ArgumentSlot slot = argument_slots(entry)[index];
  try {
    if constexpr (std::is_same_v<decltype(value), double>)
      store_floating(to, slot, value, entry, index);
    else
      store_integer(to, slot, value, entry, index);
  } catch (const Error& error) {
    return error.message();
  }
  return "taken";
}

TEST(ArgumentSlots, DeclarationsSayWhatIsTaken) {
  const std::vector<ArgumentSlot> slots = argument_slots(saxpy());
  EXPECT_EQ(slots[0].kind, SlotKind::pointer);
  EXPECT_EQ(slots[0].pointee, DType::f32);
  EXPECT_EQ(slots[1].kind, SlotKind::floating);
  EXPECT_EQ(slots[2].kind, SlotKind::unsigned_integer);
  EXPECT_TRUE(slots[2].counts_elements);
  EXPECT_EQ(slots[3].kind, SlotKind::signed_integer);
  EXPECT_EQ(slots[4].dtype, DType::f16);
  EXPECT_EQ(slots[5].kind, SlotKind::other);
  EXPECT_EQ(slots[6].kind, SlotKind::word);
  EXPECT_EQ(element_count_slot(slots), 2u);
  EXPECT_EQ(element_count_slot(std::span(slots).subspan(3, 1)), 0u);
  EXPECT_EQ(element_count_slot(std::span(slots).first(2)), std::nullopt);
}

TEST(ArgumentSlots, NumbersBecomeTheDeclaredType) {
  const Entry entry = saxpy();
  const std::vector<ArgumentSlot> slots = argument_slots(entry);
  std::uint64_t to = 0;
  store_floating(to, slots[1], 0.5, entry, 1);
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(to)), 0.5f);
  store_integer(to, slots[1], 3, entry, 1);
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(to)), 3.0f);
  store_integer(to, slots[2], 4'000'000'000, entry, 2);
  EXPECT_EQ(static_cast<std::uint32_t>(to), 4'000'000'000u);
  store_integer(to, slots[3], -5, entry, 3);
  EXPECT_EQ(static_cast<std::int8_t>(to), -5);
  store_floating(to, slots[4], 1.0, entry, 4);
  EXPECT_EQ(to, 0x3c00u);
}

TEST(ArgumentSlots, WhatDoesNotFitIsNamed) {
  const Entry entry = saxpy();
  EXPECT_THAT(refusal(entry, 0, std::int64_t{7}), HasSubstr("parameter 0 'x' of saxpy (const float*)"));
  EXPECT_THAT(refusal(entry, 0, 0.5), HasSubstr("an array was expected"));
  EXPECT_THAT(refusal(entry, 2, std::int64_t{-1}), HasSubstr("-1, which is not in 0..4294967295"));
  EXPECT_THAT(refusal(entry, 3, std::int64_t{128}), HasSubstr("not in -128..127"));
  EXPECT_THAT(refusal(entry, 2, 2.0), HasSubstr("pass an integer"));
  EXPECT_THAT(refusal(entry, 5, std::int64_t{1}), HasSubstr("only arrays and numbers"));
  EXPECT_EQ(refusal(entry, 6, std::int64_t{-1}), "taken");
}

TEST(ArgumentSlots, GridsCoverTheElements) {
  const device::LaunchLimits limits;
  EXPECT_EQ(grid_for(0, {256, 1, 1}, limits), (device::Dim3{1, 1, 1}));
  EXPECT_EQ(grid_for(256, {256, 1, 1}, limits), (device::Dim3{1, 1, 1}));
  EXPECT_EQ(grid_for(257, {256, 1, 1}, limits), (device::Dim3{2, 1, 1}));
  EXPECT_EQ(grid_for(100, {8, 4, 1}, limits), (device::Dim3{4, 1, 1}));
  EXPECT_THROW(grid_for(-1, {1, 1, 1}, limits), Error);
  EXPECT_THROW(grid_for(std::int64_t{1} << 40, {32, 1, 1}, limits), Error);
}

}  // namespace
}  // namespace gpuforge::jit
