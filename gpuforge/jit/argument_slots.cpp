#include "gpuforge/jit/argument_slots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/error.h"
#include "gpuforge/jit/kernel.h"
#include "gpuforge/jit/pointee.h"

namespace gpuforge::jit {
namespace {

constexpr std::array<std::string_view, 5> kCountNames = {"n", "N", "count", "size", "numel"};

bool is_unsigned(const Parameter& parameter) {
  const std::string& type = parameter.declared_type;
  if (type.empty()) return false;  // PTX calls every integer u32: either sign is taken
  for (const std::string_view word : {"unsigned", "uint", "size_t", "uchar", "ushort", "bool"}) {
    const std::size_t at = type.find(word);
    if (at != std::string::npos && !(word == "size_t" && at > 0 && type[at - 1] == 's')) return true;
  }
  return false;
}

ArgumentSlot slot_of(const Parameter& parameter) {
  ArgumentSlot slot;
  slot.bytes = parameter.bytes;
  switch (kind_of(parameter)) {
    case ArgumentKind::pointer:
      slot.kind = SlotKind::pointer;
      slot.pointee = pointee_dtype(parameter);
      break;
    case ArgumentKind::integer:
      slot.kind = is_unsigned(parameter) ? SlotKind::unsigned_integer : SlotKind::signed_integer;
      slot.counts_elements =
          std::find(kCountNames.begin(), kCountNames.end(), parameter.name) != kCountNames.end();
      break;
    case ArgumentKind::floating: {
      slot.kind = SlotKind::floating;
      Parameter pointer = parameter;
      pointer.declared_type += "*";
      const DType by_size = parameter.bytes == 8   ? DType::f64
                            : parameter.bytes == 4 ? DType::f32
                                                   : DType::f16;
      slot.dtype = pointee_dtype(pointer).value_or(by_size);
      break;
    }
    case ArgumentKind::any:
      if (parameter.declared_type.empty() && parameter.bytes == 8 &&
          parameter.ptx_type.find('[') == std::string::npos)
        slot.kind = SlotKind::word;
      break;
  }
  return slot;
}

[[noreturn]] void refuse(const Entry& entry, std::size_t index, const std::string& given) {
  throw Error(ErrorCode::invalid_argument, format_text("{}: got {}", slot_text(entry, index), given));
}

}  // namespace

std::vector<ArgumentSlot> argument_slots(const Entry& entry) {
  std::vector<ArgumentSlot> slots;
  for (const Parameter& parameter : entry.parameters) slots.push_back(slot_of(parameter));
  return slots;
}

std::string slot_text(const Entry& entry, std::size_t index) {
  const Parameter& parameter = entry.parameters[index];
  const std::string& type = parameter.declared_type.empty() ? parameter.ptx_type : parameter.declared_type;
  return format_text("parameter {}{} of {} ({})", index,
                     parameter.name.empty() ? std::string() : format_text(" '{}'", parameter.name),
                     entry.expression.empty() ? entry.name : entry.expression,
                     type.empty() ? format_text("{} bytes", parameter.bytes) : type);
}

void store_integer(std::uint64_t& to, const ArgumentSlot& slot, std::int64_t value, const Entry& entry,
                   std::size_t index) {
  switch (slot.kind) {
    case SlotKind::floating:
      store_floating(to, slot, static_cast<double>(value), entry, index);
      return;
    case SlotKind::word:
      break;
    case SlotKind::signed_integer:
    case SlotKind::unsigned_integer: {
      if (slot.bytes >= 8 && (slot.kind == SlotKind::signed_integer || value >= 0)) break;
      const unsigned bits = static_cast<unsigned>(std::min<std::size_t>(slot.bytes, 8) * 8);
      // Where PTX alone tells, the sign is not known: both ranges are taken.
      const bool known = !entry.parameters[index].declared_type.empty();
      const std::int64_t lowest =
          slot.kind == SlotKind::unsigned_integer ? 0 : -(std::int64_t{1} << (bits - 1));
      const std::int64_t highest =
          slot.kind == SlotKind::unsigned_integer || !known
              ? (bits == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1)
              : (std::int64_t{1} << (bits - 1)) - 1;
      if (value < lowest || value > highest)
        refuse(entry, index, format_text("{}, which is not in {}..{}", value, lowest, highest));
      break;
    }
    case SlotKind::pointer:
      refuse(entry, index, format_text("the number {}; an array was expected", value));
    case SlotKind::other:
      refuse(entry, index, format_text("the number {}; only arrays and numbers can be passed", value));
  }
  to = static_cast<std::uint64_t>(value);  // little-endian: the low bytes come first
}

void store_floating(std::uint64_t& to, const ArgumentSlot& slot, double value, const Entry& entry,
                    std::size_t index) {
  if (slot.kind == SlotKind::floating) {
    to = 0;
    store_double(&to, slot.dtype, value);
    return;
  }
  const bool integer = slot.kind == SlotKind::signed_integer || slot.kind == SlotKind::unsigned_integer ||
                       slot.kind == SlotKind::word;
  if (integer) refuse(entry, index, format_text("the floating point number {}; pass an integer", value));
  refuse(entry, index, format_text("the number {}; an array was expected", value));
}

device::Dim3 grid_for(std::int64_t elements, const device::Dim3& block, const device::LaunchLimits& limits) {
  GPUFORGE_CHECK(elements >= 0, "launch: a number of elements was expected, got {}", elements);
  const auto threads = static_cast<std::int64_t>(std::max<std::uint64_t>(block.count(), 1));
  const std::int64_t blocks = std::max<std::int64_t>(1, elements / threads + (elements % threads != 0));
  GPUFORGE_CHECK(
      blocks <= std::int64_t{limits.max_grid.x},
      "launch: {} elements need {} blocks of {} threads, a grid has at most {}; pass grid= and let each "
      "thread do several",
      elements, blocks, threads, limits.max_grid.x);
  return {static_cast<std::uint32_t>(blocks), 1, 1};
}

std::optional<std::size_t> element_count_slot(std::span<const ArgumentSlot> slots) {
  std::optional<std::size_t> found;
  std::size_t integers = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].counts_elements) return i;
    if (slots[i].kind == SlotKind::signed_integer || slots[i].kind == SlotKind::unsigned_integer) {
      found = i;
      ++integers;
    }
  }
  return integers == 1 ? found : std::nullopt;
}

}  // namespace gpuforge::jit
