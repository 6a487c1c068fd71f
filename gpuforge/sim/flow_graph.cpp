#include "gpuforge/sim/flow_graph.h"

#include <algorithm>
#include <bit>

namespace gpuforge::sim {
namespace {

constexpr std::size_t kLoopAnalysisBlocks = 20'000;  // beyond, the order is merely a reverse postorder

bool ends_block(const Line& line) {
  return line.flow != Flow::none;
}

void find_blocks(const Listing& listing, FlowGraph& graph) {
  const std::size_t lines = listing.lines.size();
  std::vector<bool> leads(lines + 1, false);
  leads[0] = true;
  for (const std::uint32_t line : listing.labels)
    if (line != kNoLabel) leads[line] = true;
  for (std::size_t i = 0; i < lines; ++i)
    if (ends_block(listing.lines[i])) leads[i + 1] = true;
  graph.block_of_line.resize(lines);
  for (std::uint32_t i = 0; i < lines; ++i) {
    if (leads[i]) graph.blocks.push_back({i, i, {}, false});
    graph.blocks.back().last = i + 1;
    graph.block_of_line[i] = static_cast<std::uint32_t>(graph.blocks.size() - 1);
  }
  for (FlowBlock& block : graph.blocks) {
    const Line& last = listing.lines[block.last - 1];
    const auto target = [&](std::uint32_t label) { return graph.block_of_line[listing.labels[label]]; };
    const bool unguarded = last.guard.kind == Value::Kind::none;
    block.falls_through =
        !(last.flow == Flow::leave || last.flow == Flow::table || (last.flow == Flow::branch && unguarded));
    if (block.falls_through) block.successors.push_back(graph.block_of_line[block.last]);
    if (last.flow == Flow::branch) block.successors.push_back(target(last.label));
    if (last.flow == Flow::table)
      for (const std::uint32_t label : listing.tables[last.label]) block.successors.push_back(target(label));
  }
}

// Depth-first from block 0; `visit_order` gives the successors of a block in the order to go into.
template <class VisitOrder, class BackEdge>
std::vector<std::uint32_t> postorder(const FlowGraph& graph, VisitOrder&& visit_order, BackEdge&& back_edge) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> state(graph.blocks.size(), kNew);
  std::vector<std::uint32_t> result;
  struct Step {
    std::uint32_t block;
    std::vector<std::uint32_t> successors;
    std::size_t next;
  };
  std::vector<Step> stack;
  stack.push_back({0, visit_order(0), 0});
  state[0] = kOpen;
  while (!stack.empty()) {
    Step& step = stack.back();
    if (step.next == step.successors.size()) {
      state[step.block] = kDone;
      result.push_back(step.block);
      stack.pop_back();
      continue;
    }
    const std::uint32_t successor = step.successors[step.next++];
    if (state[successor] == kOpen) back_edge(step.block, successor);
    if (state[successor] != kNew) continue;
    state[successor] = kOpen;
    stack.push_back({successor, visit_order(successor), 0});
  }
  return result;
}

// For every block the heads of the loops it belongs to.
std::vector<std::vector<std::uint32_t>> find_loops(const FlowGraph& graph) {
  std::vector<std::vector<std::uint32_t>> latches(graph.blocks.size());
  postorder(
      graph, [&](std::uint32_t block) { return graph.blocks[block].successors; },
      [&](std::uint32_t from, std::uint32_t to) { latches[to].push_back(from); });
  std::vector<std::vector<std::uint32_t>> predecessors(graph.blocks.size());
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block)
    for (const std::uint32_t successor : graph.blocks[block].successors)
      predecessors[successor].push_back(block);
  std::vector<std::vector<std::uint32_t>> loops(graph.blocks.size());
  std::vector<std::uint32_t> seen(graph.blocks.size(), 0xffffffffu);
  for (std::uint32_t head = 0; head < graph.blocks.size(); ++head) {
    if (latches[head].empty()) continue;
    std::vector<std::uint32_t> work = latches[head];
    seen[head] = head;
    loops[head].push_back(head);
    while (!work.empty()) {
      const std::uint32_t block = work.back();
      work.pop_back();
      if (seen[block] == head) continue;
      seen[block] = head;
      loops[block].push_back(head);
      work.insert(work.end(), predecessors[block].begin(), predecessors[block].end());
    }
  }
  return loops;  // heads in rising order, since they were gone through so
}

void find_order(FlowGraph& graph) {
  std::vector<std::vector<std::uint32_t>> loops(graph.blocks.size());
  if (graph.blocks.size() <= kLoopAnalysisBlocks) loops = find_loops(graph);
  const auto loops_left = [&](std::uint32_t from, std::uint32_t to) {
    return std::count_if(loops[from].begin(), loops[from].end(), [&](std::uint32_t head) {
      return !std::binary_search(loops[to].begin(), loops[to].end(), head);
    });
  };
  // What is gone into first comes out last: first what leaves the most loops, then what stands later in the
  // text.
  const auto visit_order = [&](std::uint32_t block) {
    std::vector<std::uint32_t> successors = graph.blocks[block].successors;
    std::stable_sort(successors.begin(), successors.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto left_a = loops_left(block, a);
      const auto left_b = loops_left(block, b);
      return left_a != left_b ? left_a > left_b : a > b;
    });
    return successors;
  };
  graph.order = postorder(graph, visit_order, [](std::uint32_t, std::uint32_t) {});
  std::reverse(graph.order.begin(), graph.order.end());
}

}  // namespace

FlowGraph make_flow_graph(const Listing& listing) {
  FlowGraph graph;
  find_blocks(listing, graph);
  find_order(graph);
  return graph;
}

namespace {

using Bits = std::vector<std::uint64_t>;

bool test(const Bits& bits, std::uint32_t index) {
  return (bits[index / 64] >> (index % 64) & 1) != 0;
}
void set(Bits& bits, std::uint32_t index) {
  bits[index / 64] |= std::uint64_t{1} << (index % 64);
}

template <class Visit>
void for_each(const Bits& bits, Visit&& visit) {
  for (std::size_t word = 0; word < bits.size(); ++word)
    for (std::uint64_t rest = bits[word]; rest != 0; rest &= rest - 1)
      visit(static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(rest)));
}

// Calls `use` for each register a line reads, then `define` for each it writes in every lane that runs it.
template <class Use, class Define>
void registers_of(const Line& line, Use&& use, Define&& define) {
  const auto visit = [&](const Value& value, bool written) {
    if (value.kind != Value::Kind::reg) return;
    if (written)
      define(value.id);
    else
      use(value.id);
  };
  const bool guarded = line.guard.kind == Value::Kind::reg;
  for (int slot = 0; slot < line.slots; ++slot)
    if ((line.sources >> slot & 1) != 0) visit(line.operand[static_cast<std::size_t>(slot)], false);
  visit(line.address, false);
  visit(line.guard, false);
  for (int slot = 0; slot < line.slots; ++slot)
    if ((line.destinations >> slot & 1) != 0) {
      const Value& value = line.operand[static_cast<std::size_t>(slot)];
      // Lanes whose guard is false keep the old value: it is read, in a way.
      if (guarded) visit(value, false);
      visit(value, true);
    }
}

// Elementwise instructions may write the row they read.
bool may_share_rows(const Line& line) {
  if (line.row == nullptr || (line.destinations & (line.destinations - 1)) != 0) return false;
  switch (line.row->op_class) {
    case OpClass::integer:
    case OpClass::logic:
    case OpClass::fp16:
    case OpClass::fp32:
    case OpClass::fp64:
    case OpClass::special_function:
    case OpClass::conversion:
    case OpClass::move:
      return line.count == 1;
    default:
      return false;
  }
}

}  // namespace

Liveness find_live_ranges(const Listing& listing, const FlowGraph& graph) {
  const std::size_t registers = listing.registers.size();
  const std::size_t words = (registers + 63) / 64;
  Liveness result;
  result.ranges.resize(registers);
  const auto touch = [&](std::uint32_t reg, std::uint32_t position) {
    LiveRange& range = result.ranges[reg];
    range.begin = std::min(range.begin, position);
    range.end = std::max(range.end, position);
  };
  std::vector<std::uint32_t> start(graph.blocks.size(), 0);  // position of a block's first line
  std::uint32_t position = 0;
  for (const std::uint32_t block : graph.order) {
    start[block] = position;
    position += 2 * (graph.blocks[block].last - graph.blocks[block].first);
  }
  const std::uint32_t end = position + 1;
  if (graph.order.size() * words >
      (std::size_t{1} << 24)) {  // over 128 MB of sets: every register its own row
    for (std::uint32_t reg = 0; reg < registers; ++reg) result.ranges[reg] = {0, end};
    for (std::uint32_t reg = 0; reg < registers; ++reg) result.read_unwritten.push_back(reg);
    return result;
  }

  struct Sets {
    Bits in, out, uses, defines;
  };
  std::vector<Sets> sets(graph.blocks.size());
  for (const std::uint32_t block : graph.order) {
    Sets& mine = sets[block];
    mine.in.resize(words);
    mine.out.resize(words);
    mine.uses.resize(words);
    mine.defines.resize(words);
    std::uint32_t at = start[block];
    for (std::uint32_t i = graph.blocks[block].first; i < graph.blocks[block].last; ++i, at += 2) {
      const Line& line = listing.lines[i];
      const bool shares = may_share_rows(line);
      registers_of(
          line,
          [&](std::uint32_t reg) {
            if (!test(mine.defines, reg)) set(mine.uses, reg);
            touch(reg, shares ? at : at + 1);
          },
          [&](std::uint32_t reg) {
            set(mine.defines, reg);
            touch(reg, shares ? at + 1 : at);
          });
    }
    mine.in = mine.uses;
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto block = graph.order.rbegin(); block != graph.order.rend(); ++block) {
      Sets& mine = sets[*block];
      for (const std::uint32_t successor : graph.blocks[*block].successors)
        for (std::size_t word = 0; word < words; ++word) mine.out[word] |= sets[successor].in[word];
      for (std::size_t word = 0; word < words; ++word) {
        const std::uint64_t in = mine.uses[word] | (mine.out[word] & ~mine.defines[word]);
        changed = changed || in != mine.in[word];
        mine.in[word] = in;
      }
    }
  }
  for (const std::uint32_t block : graph.order) {
    const std::uint32_t last = start[block] + 2 * (graph.blocks[block].last - graph.blocks[block].first);
    for_each(sets[block].in, [&](std::uint32_t reg) { touch(reg, start[block]); });
    for_each(sets[block].out, [&](std::uint32_t reg) { touch(reg, last); });
  }
  for_each(sets[0].in, [&](std::uint32_t reg) {
    result.read_unwritten.push_back(reg);
    touch(reg, 0);
  });
  return result;
}

}  // namespace gpuforge::sim
