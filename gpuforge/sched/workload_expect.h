// The `expect` section of workload files. Not installed.
#pragma once

#include <string>
#include <vector>

#include "gpuforge/base/yaml.h"
#include "gpuforge/sched/workload.h"

namespace gpuforge::sched {

Expectation read_expectation(const Yaml& yaml, const std::vector<std::string>& tasks);

}  // namespace gpuforge::sched
