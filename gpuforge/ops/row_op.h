// What the descriptions of ops over rows have alike.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/lab/op.h"
#include "gpuforge/ops/row_config.h"

namespace gpuforge::ops {

// An option of a problem that went through lab::complete().
std::int64_t integer_option(const lab::Problem& problem, std::string_view name);
bool flag_option(const lab::Problem& problem, std::string_view name);
lab::OptionDescription flag_description(std::string name, bool fallback, std::string summary);

// Of an op along the axis `dim` of arrays that all have the problem's shape: its dtypes, that option, and
// what `check` goes through.
void describe_axis(lab::Op& op);
std::size_t axis_of(const lab::Problem& problem, const char* op);
lab::Operand operand_like(const lab::Problem& problem, std::string name, lab::Role role);

// Sets kernels, choose, configs and tuning_key.
void describe_choices(lab::Op& op,
                      std::function<RowProblem(const lab::Problem&, std::string_view variant)> rows,
                      std::function<std::vector<std::shared_ptr<const jit::Kernel>>(
                          Context&, const lab::Problem&, std::string_view variant, const RowConfig&)>
                          kernels);

// Those of the inputs after x that the problem has, in the order of operands(); nullptr for the others.
template <typename T>
class Optionals {
 public:
  Optionals(const lab::Problem& problem, std::span<T> list) : problem_(problem), list_(list) {}
  T* operator()(std::string_view option) { return flag_option(problem_, option) ? &list_[at_++] : nullptr; }

 private:
  const lab::Problem& problem_;
  std::span<T> list_;
  std::size_t at_ = 0;
};

}  // namespace gpuforge::ops
