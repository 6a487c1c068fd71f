#include "gpuforge/lab/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "gpuforge/base/convert.h"
#include "gpuforge/lab/host_bytes.h"
#include "gpuforge/lab/placement.h"
#include "gpuforge/lab/sim_watch.h"

namespace gpuforge::lab {
namespace {

using Bytes = std::vector<std::byte>;

// One for each run, so that a result that happens to be one of them is not taken for an element never
// written: NaNs in every floating dtype, and numbers around 1 that do not swallow what is added to them.
constexpr std::uint8_t kPatterns[] = {0xff, 0x3f};
constexpr std::size_t kMostFindings = 6;  // shown of one case

bool holds_only(std::span<const std::byte> element, std::uint8_t pattern) {
  return std::all_of(element.begin(), element.end(),
                     [&](std::byte byte) { return byte == std::byte{pattern}; });
}

// What a case works on, and what it found.
class Case {
 public:
  Case(const Op& op, const CheckCase& which, const Worked& worked, const std::shared_ptr<Context>& context)
      : op_(op),
        which_(which),
        worked_(worked),
        context_(context),
        stream_(context->make_stream()),
        operands_(worked.operands),
        results_(operands_.size()) {}

  CheckReport run() {
    if (run_twice()) judge();
    return std::move(report_);
  }

 private:
  bool run_twice() {
    SimWatch watch(context_->device());
    bool ran = true;
    for (std::size_t turn = 0; ran && turn < std::size(kPatterns); ++turn) {
      watch.set_order(turn == 0 ? 0 : which_.seed | 1);
      ran = run_once(kPatterns[turn], watch);
    }
    std::vector<std::string> found = watch.sentences();
    ended_early_ = !found.empty();
    if (found.size() > kMostFindings) {
      const std::size_t more = found.size() - kMostFindings + 1;
      found.resize(kMostFindings - 1);
      found.push_back(format_text("and {} more findings of the simulator", more));
    }
    report_.faults.insert(report_.faults.begin(), found.begin(), found.end());
    return ran;
  }

  // False when there is nothing to look at.
  bool run_once(std::uint8_t pattern, const SimWatch& watch) {
    std::vector<PlacedOperand> placed;
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      placed.push_back(place(context_, operands_[i], which_.placement, *stream_));
      write_operand(placed.back(), pattern, worked_.inputs[i], *stream_);
      arrays.push_back(placed.back().view);
    }
    if (!launch(arrays, watch)) return false;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      ReadBack read = read_operand(placed[i], pattern, *stream_);
      if (!read.damage.empty()) {
        add_once(format_text("bytes that are not of {} were changed: {}", operands_[i].name, read.damage));
      }
      results_[i].push_back(std::move(read.elements));
    }
    return true;
  }

  bool launch(std::vector<Array>& arrays, const SimWatch& watch) {
    try {
      tell_choice();
      op_.run({.problem = which_.problem,
               .variant = which_.variant,
               .config = which_.config ? &*which_.config : nullptr,
               .operands = arrays,
               .stream = *stream_});
      stream_->synchronize();
      return true;
    } catch (const Error& error) {
      switch (error.code()) {
        case ErrorCode::invalid_argument:  // of which findings are one kind
          if (!watch.sentences().empty()) return true;
          [[fallthrough]];
        case ErrorCode::unsupported:
        case ErrorCode::compile:
          add_once(format_text("it did not run: {}", error.message()));
          return false;
        case ErrorCode::cuda:
          add_once(format_text("the launch failed: {}", error.message()));
          report_.device_lost = true;
          return false;
        default:
          throw;
      }
    }
  }

  // Which configuration the op takes, for who asks.
  void tell_choice() {
    const device::DeviceFacts& facts = context_->device().facts();
    Log& log = context_->log();
    if (std::exchange(told_, true) || which_.config || !op_.choose || !log.enabled(LogLevel::debug) ||
        facts.kind == device::DeviceKind::cpu)
      return;
    const Choice choice = op_.choose(which_.problem, which_.variant, facts, context_->tuning());
    log.debug("{} {}: {} ({})", op_.name, to_string(which_), gpuforge::to_string(choice.config),
              choice.reason);
  }

  void judge() {
    const std::vector<Expected>& expected = worked_.expected;
    std::size_t output = 0;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      if (operand.role == Role::input) {
        judge_input(i);
        continue;
      }
      GPUFORGE_ASSERT(output < expected.size(), "{}: its reference gives {} outputs", op_.name,
                      expected.size());
      judge_repeat(i);
      const Tolerance tolerance = op_.tolerance(which_.problem, output);
      const Expected& right = expected[output++];
      const Bytes& got = results_[i][0];
      OutputReport report{operand.name, operand.shape, compare(right, got, operand.dtype, tolerance), {}};
      if (!report.comparison.good()) {
        report.map = draw_errors(operand.shape, wrong_elements(right, got, operand.dtype, tolerance));
      }
      report_.outputs.push_back(std::move(report));
    }
  }

  void judge_input(std::size_t i) {
    const std::size_t width = element_bytes(operands_[i].dtype);
    for (const Bytes& after : results_[i]) {
      const Occurrences changed = differences(after, worked_.inputs[i], width);
      if (changed.count == 0) continue;
      report_.faults.push_back(format_text("{} of {} elements of the input {} were changed, the first at {}",
                                           changed.count, after.size() / width, operands_[i].name,
                                           coordinate_text(operands_[i].shape, changed.first)));
      return;
    }
  }

  // Elements never written, else those that differ between the runs.
  void judge_repeat(std::size_t i) {
    const Operand& operand = operands_[i];
    const std::vector<Bytes>& runs = results_[i];
    const std::size_t width = element_bytes(operand.dtype);
    const auto untouched = [&](const std::byte* one, const std::byte* two) {
      return operand.role == Role::output && holds_only({one, width}, kPatterns[0]) &&
             holds_only({two, width}, kPatterns[1]);
    };
    const Occurrences unwritten = differences(runs[0], runs[1], width, untouched);
    if (unwritten.count > 0) {
      report_.faults.push_back(format_text("{} of {} elements of {} were never written, the first at {}",
                                           unwritten.count, element_count(operand.shape), operand.name,
                                           coordinate_text(operand.shape, unwritten.first)));
    }
    const Occurrences different =
        differences(runs[0], runs[1], width,
                    [&](const std::byte* one, const std::byte* two) { return !untouched(one, two); });
    if (different.count > 0 && op_.deterministic && !ended_early_) {
      const auto value = [&](const Bytes& run) {
        return number_text(load_double(run.data() + different.first * width, operand.dtype));
      };
      report_.faults.push_back(
          format_text("{} of {} elements of {} differ between two runs on the same input, the first at {}: "
                      "{}, then {}",
                      different.count, element_count(operand.shape), operand.name,
                      coordinate_text(operand.shape, different.first), value(runs[0]), value(runs[1])));
    }
  }

  void add_once(std::string fault) {
    const auto& faults = report_.faults;
    if (std::find(faults.begin(), faults.end(), fault) == faults.end())
      report_.faults.push_back(std::move(fault));
  }

  bool told_ = false;
  const Op& op_;
  const CheckCase& which_;
  const Worked& worked_;
  const std::shared_ptr<Context>& context_;
  const std::shared_ptr<device::Stream> stream_;
  const std::vector<Operand>& operands_;
  std::vector<std::vector<Bytes>> results_;  // of each operand, after each run
  bool ended_early_ = false;                 // maybe: the simulator found something, and two runs differ then
  CheckReport report_;
};

}  // namespace

CheckReport check(const Op& op, const CheckCase& which, const std::shared_ptr<Context>& context) {
  return check(op, which, work_out(op, which.problem, which.contents, which.seed), context);
}

CheckReport check(const Op& op, const CheckCase& which, const Worked& worked,
                  const std::shared_ptr<Context>& context) {
  return Case(op, which, worked, context).run();
}

}  // namespace gpuforge::lab
