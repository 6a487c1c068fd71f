#include "gpuforge/sched/script.h"

namespace gpuforge::sched {
namespace {

// splitmix64: a good number from any three, the same everywhere.
double unit_interval(std::uint64_t seed, std::uint64_t index, std::uint64_t call) {
  std::uint64_t value = seed * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u + call;
  for (int i = 0; i < 2; ++i) {
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    value ^= value >> 31;
  }
  return static_cast<double>(value >> 11) * 0x1p-53;
}

}  // namespace

void Script::arrived(double at_us) {
  arrived_ = true;
  request_came_us_ = at_us;
}

std::optional<KernelCall> Script::next(double now_us) const {
  if (!arrived_ || request_ >= task_->requests || request_came_us_ > now_us) return std::nullopt;
  const KernelStep& step = task_->steps[step_];
  return KernelCall{&step, 1 + step.vary * (2 * unit_interval(seed_, index_, calls_) - 1)};
}

After Script::done(double now_us) {
  ++calls_;
  if (++repeat_ < task_->steps[step_].count) return After::more;
  repeat_ = 0;
  if (++step_ < task_->steps.size()) return After::more;
  step_ = 0;
  latencies_us_.push_back(now_us - request_came_us_);
  if (++request_ >= task_->requests) return After::finished;
  request_came_us_ = task_->every_us ? request_came_us_ + *task_->every_us : now_us;
  return request_came_us_ > now_us ? After::rest : After::more;
}

double Script::next_request_us() const {
  if (!arrived_ || request_ >= task_->requests) return std::numeric_limits<double>::infinity();
  return request_came_us_;
}

}  // namespace gpuforge::sched
