// Places a listing's registers in rows and turns its lines into ops.
#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <tuple>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/control.h"
#include "gpuforge/sim/flow_graph.h"
#include "gpuforge/sim/listing.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint32_t kNowhere = 0xffffffffu;
constexpr std::uint32_t kMaxFrameBytes = 64u << 20;

class CodeMaker {
 public:
  CodeMaker(ImageBuilder& builder, Listing& listing)
      : builder_(builder), listing_(listing), graph_(make_flow_graph(listing)) {}

  Code run() {
    code_.name = listing_.function->name;
    code_.param_bytes = listing_.param_bytes;
    code_.local_bytes = (listing_.local_bytes + 15) / 16 * 16;
    place_registers();
    for (std::size_t i = 0; i < graph_.order.size(); ++i)
      emit(graph_.order[i], i + 1 < graph_.order.size() ? graph_.order[i + 1] : kNowhere);
    link();
    for (const ListedCall& call : listing_.calls) {
      code_.calls.push_back({call.callee, call.builtin,
                             call.target.kind == Value::Kind::none ? 0 : offset_of(call.target),
                             passed(call.arguments), passed(call.results)});
    }
    code_.parameters = passed(listing_.parameters);
    code_.results = passed(listing_.results);
    code_.copies = listing_.copies;
    finish_frame();
    return std::move(code_);
  }

 private:
  std::uint32_t new_row(std::uint32_t bytes) {
    const std::uint32_t offset = row_top_;
    row_top_ += bytes * kLanes;
    if (row_top_ > kMaxFrameBytes)
      fail(ErrorCode::unsupported, builder_.program->module, listing_.function->position,
           "this function needs too many registers");
    return offset;
  }
  std::uint32_t new_mask() {
    return mask_count_++ * 4;
  }  // relative to masks_begin until the frame is finished

  // Registers whose values are never needed at once share a row.
  void place_registers() {
    Liveness liveness = find_live_ranges(listing_, graph_);
    place_.assign(listing_.registers.size(), kNowhere);
    std::vector<std::uint32_t> by_begin;
    for (std::uint32_t reg = 0; reg < place_.size(); ++reg)
      if (liveness.ranges[reg].used()) by_begin.push_back(reg);
    std::sort(by_begin.begin(), by_begin.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(liveness.ranges[a].begin, a) < std::tie(liveness.ranges[b].begin, b);
    });
    using Ending = std::pair<std::uint32_t, std::uint32_t>;  // end, register
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> live;
    std::array<std::vector<std::uint32_t>, 17> free;
    for (const std::uint32_t reg : by_begin) {
      while (!live.empty() && live.top().first < liveness.ranges[reg].begin) {
        const std::uint32_t ended = live.top().second;
        free[listing_.registers[ended]].push_back(place_[ended]);
        live.pop();
      }
      const std::uint8_t bytes = listing_.registers[reg];
      if (!free[bytes].empty()) {
        place_[reg] = free[bytes].back();
        free[bytes].pop_back();
      } else {
        place_[reg] = bytes == 0 ? new_mask() : new_row(bytes);
      }
      live.emplace(liveness.ranges[reg].end, reg);
    }
    unwritten_ = std::move(liveness.read_unwritten);
  }

  std::uint32_t mask_offset(std::uint32_t relative) const { return relative | kMaskBit; }

  // Masks are numbered from kMaskBit on until it is known where the rows end.
  std::uint32_t offset_of(const Value& value) {
    switch (value.kind) {
      case Value::Kind::none:
        return kNoOperand;
      case Value::Kind::reg: {
        std::uint32_t& place = place_[value.id];
        if (place == kNowhere) place = value.bytes == 0 ? new_mask() : new_row(value.bytes);  // never needed
        return value.bytes == 0 ? mask_offset(place) : place;
      }
      case Value::Kind::constant: {
        const auto [found, added] =
            constants_.try_emplace(std::tuple(value.bytes, value.bits, value.high), std::uint32_t{0});
        if (added) {
          found->second = new_row(value.bytes);
          code_.constants.push_back({found->second, value.bytes, value.bits, value.high});
        }
        return found->second;
      }
      case Value::Kind::special: {
        const auto [found, added] =
            specials_.try_emplace(std::tuple(value.bytes, value.id, value.bits), std::uint32_t{0});
        if (added) {
          found->second = new_row(value.bytes);
          code_.specials.push_back(
              {found->second, value.bytes, static_cast<SpecialRegister>(value.id), value.bits});
        }
        return found->second;
      }
      case Value::Kind::constant_mask: {
        const auto [found, added] = masks_.try_emplace(value.bits, std::uint32_t{0});
        if (added) {
          found->second = new_mask();
          code_.constant_masks.push_back({.offset = mask_offset(found->second),
                                          .value = static_cast<Mask>(value.bits),
                                          .of_cluster = value.bits == kMaskOfCluster});
        }
        return mask_offset(found->second);
      }
      case Value::Kind::scratch: {
        std::uint32_t& place = scratch_[value.bytes];
        if (place == 0) place = new_row(value.bytes) + 1;
        return place - 1;
      }
      case Value::Kind::scratch_mask:
        if (scratch_mask_ == kNowhere) scratch_mask_ = new_mask();
        return mask_offset(scratch_mask_);
      case Value::Kind::carry:
        if (carry_ == kNowhere) carry_ = new_mask();
        return mask_offset(carry_);
    }
    return kNoOperand;
  }

  std::vector<Passed> passed(const std::vector<ListedPassed>& list) {
    std::vector<Passed> result;
    for (const ListedPassed& one : list)
      result.push_back({one.in_row, one.in_row ? offset_of(one.value) : one.offset, one.bytes});
    return result;
  }

  void emit(std::uint32_t index, std::uint32_t next) {
    const FlowBlock& block = graph_.blocks[index];
    const std::uint32_t count_index = builder_.image->block_count++;
    first_op_.resize(graph_.blocks.size(), kNowhere);
    first_op_[index] = static_cast<std::uint32_t>(code_.ops.size());
    Op enter;
    enter.inner = enter_handlers();
    enter.run = {enter.inner.full, enter.inner.masked, run_tracked};
    enter.target = count_index;
    enter.immediate = block.last - block.first;
    enter.site = listing_.lines[block.first].site;
    code_.ops.push_back(enter);
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const Line& line = listing_.lines[i];
      if (line.row != nullptr) {
        Site& site = builder_.image->sites[line.site];
        site.block = count_index;
        site.counted = true;
        site.guarded = line.guard.kind != Value::Kind::none && line.flow != Flow::branch;
      }
      code_.ops.push_back(make_op(line));
    }
    const Line& last = listing_.lines[block.last - 1];
    if (last.flow == Flow::branch) jumps_.emplace_back(code_.ops.size() - 1, block.successors.back());
    if (!block.falls_through) return;
    const std::uint32_t follower = block.successors.front();
    if (follower == next) return;
    Op jump;
    jump.inner = branch_handlers();
    jump.run = {jump.inner.full, jump.inner.masked, run_tracked};
    jump.site = last.site;
    code_.ops.push_back(jump);
    jumps_.emplace_back(code_.ops.size() - 1, follower);
  }

  Op make_op(const Line& line) {
    Op op;
    op.inner = line.handlers;
    const bool guarded = line.guard.kind != Value::Kind::none;
    op.has_guard = guarded;
    op.guard_negated = line.guard_negated;
    if (guarded) op.guard = offset_of(line.guard);
    const bool wrapped = guarded && line.flow != Flow::branch;
    op.run = {wrapped ? run_guarded : line.handlers.full, wrapped ? run_guarded_masked : line.handlers.masked,
              run_tracked};
    for (std::size_t slot = 0; slot < line.slots; ++slot) op.operand[slot] = offset_of(line.operand[slot]);
    op.immediate = line.immediate;
    if (line.address.kind != Value::Kind::none) {
      op.has_address_row = true;
      op.address = offset_of(line.address);
    }
    op.site = line.site;
    op.target = line.flow == Flow::call ? line.call : line.label;
    op.count = line.count;
    op.register_bytes = line.register_bytes;
    op.source_bytes = line.source_bytes;
    op.address_bytes = line.address_bytes;
    op.space = line.space;
    op.sources = line.sources;
    op.destinations = line.destinations;
    return op;
  }

  void link() {
    for (const auto& [op, block] : jumps_)
      code_.ops[op].target = static_cast<std::uint32_t>(static_cast<std::int32_t>(first_op_[block]) -
                                                        static_cast<std::int32_t>(op));
    for (const auto& labels : listing_.tables) {
      std::vector<std::int32_t> table;
      for (const std::uint32_t label : labels) {
        const std::uint32_t block = graph_.block_of_line[listing_.labels[label]];
        // A table nobody reaches may name blocks nobody reaches.
        table.push_back(first_op_[block] == kNowhere ? 0 : static_cast<std::int32_t>(first_op_[block]));
      }
      code_.branch_tables.push_back(std::move(table));
    }
  }

  void finish_frame() {
    code_.masks_begin = row_top_;
    code_.row_marks = row_top_ + mask_count_ * 4;
    code_.mask_marks = code_.row_marks + row_top_ / 128 * 4;
    code_.frame_bytes = (code_.mask_marks + mask_count_ * 4 + 63) / 64 * 64;
    const auto fix = [&](std::uint32_t& offset) {
      if (offset != kNoOperand && (offset & kMaskBit) != 0) offset = (offset & ~kMaskBit) + code_.masks_begin;
    };
    for (Op& op : code_.ops) {
      for (std::uint32_t& operand : op.operand) fix(operand);
      if (op.has_guard) fix(op.guard);
    }
    for (ConstantMask& mask : code_.constant_masks) fix(mask.offset);
    for (Call& call : code_.calls) {
      for (Passed& one : call.arguments)
        if (one.in_row) fix(one.offset);
      for (Passed& one : call.results)
        if (one.in_row) fix(one.offset);
    }
    for (Passed& one : code_.parameters)
      if (one.in_row) fix(one.offset);
    for (Passed& one : code_.results)
      if (one.in_row) fix(one.offset);
    for (const std::uint32_t reg : unwritten_) {
      const bool arrives =
          std::any_of(listing_.parameters.begin(), listing_.parameters.end(), [&](const auto& one) {
            return one.in_row && one.value.kind == Value::Kind::reg && one.value.id == reg;
          });
      if (arrives) continue;
      const std::uint32_t place = place_[reg];
      if (listing_.registers[reg] == 0) {
        code_.unwritten.push_back({code_.mask_marks + place, code_.masks_begin + place, 4});
      } else {
        const std::uint32_t bytes = listing_.registers[reg] * std::uint32_t{kLanes};
        code_.unwritten.push_back({code_.row_marks + place / 128 * 4, place, bytes});
      }
    }
  }

  static constexpr std::uint32_t kMaskBit = 0x80000000u;

  ImageBuilder& builder_;
  Listing& listing_;
  FlowGraph graph_;
  Code code_;
  std::vector<std::uint32_t> place_;
  std::vector<std::uint32_t> unwritten_;
  std::vector<std::uint32_t> first_op_;
  std::vector<std::pair<std::size_t, std::uint32_t>> jumps_;  // op, block
  std::map<std::tuple<std::uint8_t, std::uint64_t, std::uint64_t>, std::uint32_t> constants_;
  std::map<std::tuple<std::uint8_t, std::uint32_t, std::uint64_t>, std::uint32_t> specials_;
  std::map<std::uint64_t, std::uint32_t> masks_;
  std::array<std::uint32_t, 17> scratch_{};
  std::uint32_t scratch_mask_ = kNowhere;
  std::uint32_t carry_ = kNowhere;
  std::uint32_t row_top_ = 0;
  std::uint32_t mask_count_ = 0;
};

}  // namespace

Code make_code(ImageBuilder& builder, Listing& listing) {
  return CodeMaker(builder, listing).run();
}

}  // namespace gpuforge::sim
