// The names of special registers.
#pragma once

#include <optional>
#include <string_view>

#include "gpuforge/sim/code.h"

namespace gpuforge::sim {

struct SpecialName {
  std::string_view name;
  SpecialRegister which = SpecialRegister::zero;
  std::uint8_t bytes = 4;
  bool changes = false;  // while a thread runs: read anew each time
};
std::optional<SpecialName> special_register(std::string_view name);

}  // namespace gpuforge::sim
