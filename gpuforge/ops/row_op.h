// What the descriptions of ops over rows have alike.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "gpuforge/lab/op.h"
#include "gpuforge/ops/row_config.h"

namespace gpuforge::ops {

// An option of a problem that went through lab::complete().
std::int64_t integer_option(const lab::Problem& problem, std::string_view name);
bool flag_option(const lab::Problem& problem, std::string_view name);
lab::OptionDescription flag_description(std::string name, bool fallback, std::string summary);

// Sets kernels, choose, configs and tuning_key.
void describe_choices(lab::Op& op,
                      std::function<RowProblem(const lab::Problem&, std::string_view variant)> rows,
                      std::function<std::vector<std::shared_ptr<const jit::Kernel>>(
                          Context&, const lab::Problem&, std::string_view variant, const RowConfig&)>
                          kernels);

}  // namespace gpuforge::ops
