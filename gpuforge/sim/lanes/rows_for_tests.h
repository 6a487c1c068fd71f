// Runs one instruction of the opcode table over all combinations of given values, full, masked and with the
// destination's row being a source's, and compares each lane with a scalar reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/sim/opcode.h"
#include "gpuforge/sim/syntax.h"
#include "gpuforge/sim/warp.h"

namespace gpuforge::sim::lane_tests {

__extension__ using Value = unsigned __int128;  // the bits of any operand
__extension__ using SignedValue = __int128;
using Values = std::vector<Value>;

// The handlers of "add.sat.s32"; `operands` must stand in the operands of the row's syntax. {} when no row
// fits or the row refuses.
inline Handlers handlers_of(std::span<const OpcodeRow> rows, std::string_view instruction,
                            std::string_view operands = "") {
  std::vector<std::string_view> words;
  std::string_view rest = instruction;
  while (!rest.empty()) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    words.push_back(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  const auto modifiers = std::span<const std::string_view>(words).subspan(1);
  for (const OpcodeRow& one : rows) {
    if (mnemonic(one.syntax) != words[0] || one.syntax.find(operands) == std::string_view::npos) continue;
    if (modifiers_fit_in_any_order(compile_syntax(one.syntax), modifiers))
      return one.bind(make_match(modifiers));
  }
  return {};
}

// Values of a type's bits where things go wrong, and some anywhere.
inline Values edge_values(int bits, int random_values = 6) {
  Values result;
  const Value all = bits == 128 ? ~Value{0} : (Value{1} << bits) - 1;
  const Value top = Value{1} << (bits - 1);
  for (const Value value :
       {Value{0}, Value{1}, Value{2}, Value{3}, Value{7}, Value{0x80}, Value{0xff}, top - 2, top - 1, top,
        top + 1, all - 2, all - 1, all, all / 3, all / 3 * 2, all / 17, Value{1} << (bits / 2)})
    result.push_back(value & all);
  std::mt19937_64 random(static_cast<std::uint64_t>(bits));
  for (int i = 0; i < random_values; ++i)
    result.push_back((static_cast<Value>(random()) << 64 | random()) & all);
  return result;
}
inline Values shift_amounts() {
  return {0,  1,  2,  7,   8,   15,  16,  17,  31,  32,          33,
          63, 64, 65, 127, 128, 200, 255, 256, 257, 0x80000000u, 0xffffffffu};
}

// Bytes of each operand's row element, 0 for a predicate; outputs have the first slots.
struct Shape {
  std::vector<int> outputs;
  std::vector<int> inputs;
  bool carry = false;  // one more slot, a predicate that is the last input and the last output
  std::int64_t immediate = 0;
  int count = 1;
  int source_bytes = 4;
};
// inputs -> outputs, as bits
using Reference = std::function<void(const Value* in, Value* out)>;

class LaneRunner {
 public:
  LaneRunner() : bytes_(12 * kSlot + 64) {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    warp.rows = bytes_.data() + (64 - at % 64) % 64;
  }
  static std::uint32_t slot(std::size_t index) { return static_cast<std::uint32_t>(index * kSlot); }

  Value get(std::size_t index, int bytes, int lane) const {
    if (bytes == 0) return predicate(warp, slot(index)) >> lane & 1;
    Value value = 0;
    const std::size_t part = bytes == 16 ? 8 : static_cast<std::size_t>(bytes);
    const std::byte* at = warp.rows + slot(index) + static_cast<std::size_t>(lane) * part;
    std::memcpy(&value, at, part);
    if (bytes == 16) std::memcpy(reinterpret_cast<std::byte*>(&value) + 8, at + 256, 8);
    return value;
  }
  void set(std::size_t index, int bytes, int lane, Value value) {
    if (bytes == 0) {
      Mask& mask = predicate(warp, slot(index));
      mask = (mask & ~(Mask{1} << lane)) | static_cast<Mask>(value & 1) << lane;
      return;
    }
    const std::size_t part = bytes == 16 ? 8 : static_cast<std::size_t>(bytes);
    std::byte* at = warp.rows + slot(index) + static_cast<std::size_t>(lane) * part;
    std::memcpy(at, &value, part);
    if (bytes == 16) std::memcpy(at + 256, reinterpret_cast<const std::byte*>(&value) + 8, 8);
  }

  // Runs `handlers` once on 32 lanes of inputs; alias: the first output's row is that of this input.
  void check_once(const std::string& name, Handlers handlers, const Shape& shape, const Reference& reference,
                  std::span<const Values> lanes, Mask active, int alias) {
    Op ops[2];
    Op& op = ops[0];
    const std::size_t outputs = shape.outputs.size();
    const std::size_t inputs = shape.inputs.size();
    for (std::size_t i = 0; i < outputs + inputs + 1; ++i) op.operand[i] = slot(i);
    if (alias >= 0) op.operand[0] = slot(outputs + static_cast<std::size_t>(alias));
    op.immediate = shape.immediate;
    op.count = static_cast<std::uint8_t>(shape.count);
    op.source_bytes = static_cast<std::uint8_t>(shape.source_bytes);
    for (std::size_t i = 0; i < outputs; ++i)
      for (int lane = 0; lane < kLanes; ++lane) set(i, shape.outputs[i], lane, poison(lane));
    for (int lane = 0; lane < kLanes; ++lane)
      for (std::size_t i = 0; i < inputs + (shape.carry ? 1 : 0); ++i)
        set(outputs + i, i < inputs ? shape.inputs[i] : 0, lane, lanes[static_cast<std::size_t>(lane)][i]);
    warp.active = active;
    warp.mode = active == kAllLanes ? Mode::full : Mode::masked;
    set_lane_mask(warp);
    const Op* next = (active == kAllLanes ? handlers.full : handlers.masked)(warp, &op);
    ASSERT_EQ(next, &op + 1) << name;
    for (int lane = 0; lane < kLanes; ++lane) {
      const Values& in = lanes[static_cast<std::size_t>(lane)];
      Value expected[9] = {};
      reference(in.data(), expected);
      for (std::size_t i = 0; i < outputs + (shape.carry ? 1 : 0); ++i) {
        const bool is_flag = i == outputs;
        const std::size_t index =
            is_flag ? outputs + inputs
                    : (i == 0 && alias >= 0 ? outputs + static_cast<std::size_t>(alias) : i);
        const int bytes = is_flag ? 0 : shape.outputs[i];
        Value wanted = expected[i];
        if ((active >> lane & 1) == 0)
          wanted = is_flag ? in[inputs] : (index != i ? in[static_cast<std::size_t>(alias)] : poison(lane));
        const Value mask = bytes == 0 ? 1 : (bytes == 16 ? ~Value{0} : (Value{1} << (bytes * 8)) - 1);
        const Value found = get(index, bytes, lane);
        if (found == (wanted & mask)) continue;
        FAIL() << name << " output " << i << " is " << text(found) << ", not " << text(wanted & mask)
               << "; lane " << lane << ((active >> lane & 1) != 0 ? " active" : " inactive") << ", alias "
               << alias << ", inputs " << text(in);
      }
    }
  }

  // Every combination of the inputs' values.
  void check(const std::string& name, Handlers handlers, const Shape& shape, std::span<const Values> domains,
             const Reference& reference) {
    ASSERT_NE(handlers.full, nullptr) << name;
    ASSERT_NE(handlers.masked, nullptr) << name;
    std::vector<Values> lanes;
    std::vector<std::size_t> at(domains.size());
    bool done = false;
    while (!done) {
      Values in;
      for (std::size_t i = 0; i < domains.size(); ++i) in.push_back(domains[i][at[i]]);
      lanes.push_back(in);
      std::size_t i = 0;
      while (i < domains.size() && ++at[i] == domains[i].size()) at[i++] = 0;
      done = i == domains.size();
      while (done && lanes.size() < kLanes) lanes.push_back(in);
      if (lanes.size() < kLanes) continue;
      check_once(name, handlers, shape, reference, lanes, kAllLanes, -1);
      check_once(name, handlers, shape, reference, lanes, static_cast<Mask>(random_()), -1);
      for (std::size_t k = 0; k < shape.inputs.size(); ++k)
        if (shape.outputs[0] == shape.inputs[k])
          for (const Mask active : {kAllLanes, static_cast<Mask>(random_())})
            check_once(name, handlers, shape, reference, lanes, active, static_cast<int>(k));
      if (testing::Test::HasFatalFailure()) return;
      lanes.clear();
    }
  }

  Warp warp;

 private:
  static constexpr std::size_t kSlot = 512;
  static Value poison(int lane) {
    return (Value{0xdeadbeefcafef00du} << 64 | Value{0x123456789abcdef0u}) + static_cast<Value>(lane);
  }
  static std::string text(Value value) {
    std::string result;
    do {
      result.insert(result.begin(), "0123456789abcdef"[static_cast<int>(value & 15)]);
      value >>= 4;
    } while (value != 0);
    return "0x" + result;
  }
  static std::string text(const Values& values) {
    std::string result;
    for (const Value value : values) result += text(value) + " ";
    return result;
  }
  std::vector<std::byte> bytes_;
  std::mt19937_64 random_{7};
};

// The integer a type's bits stand for.
inline SignedValue number_of(std::string_view type, Value bits) {
  const int width = type.size() == 2 ? type[1] - '0' : std::stoi(std::string(type.substr(1, 2)));
  bits &= (Value{1} << width) - 1;
  const bool negative = type[0] == 's' && (bits >> (width - 1) & 1) != 0;
  return static_cast<SignedValue>(bits) - (negative ? static_cast<SignedValue>(1) << width : 0);
}
inline int width_of(std::string_view type) {
  return std::stoi(std::string(type.substr(1, 2)));
}
inline Value low(SignedValue value, int width) {
  return static_cast<Value>(value) & (width == 128 ? ~Value{0} : (Value{1} << width) - 1);
}
inline int row_bytes(int width) {
  return width == 64 ? 8 : 4;
}

}  // namespace gpuforge::sim::lane_tests
