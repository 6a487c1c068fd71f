// The classes instructions are counted by.
#pragma once

#include <cstdint>
#include <string_view>

namespace gpuforge::sim {

enum class OpClass : std::uint8_t {
  integer,
  logic,
  fp16,
  fp32,
  fp64,
  special_function,
  conversion,
  comparison,
  move,
  control,
  load,
  store,
  atomic,
  warp,
  barrier,
  fence,
  other
};
std::string_view name(OpClass value);

}  // namespace gpuforge::sim
