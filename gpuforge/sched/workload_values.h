// Values of workload files, each a parse Error with file and line when it is another. Not installed.
#pragma once

#include <cstdint>

#include "gpuforge/base/yaml.h"

namespace gpuforge::sched {

std::uint64_t read_bytes(const Yaml& yaml);
double read_duration(const Yaml& yaml);  // in microseconds
double read_share(const Yaml& yaml);     // 0 to 1
std::int64_t read_whole(const Yaml& yaml, std::int64_t least, std::int64_t most);

}  // namespace gpuforge::sched
