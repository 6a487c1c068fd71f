#include "gpuforge/sim/finding.h"

#include "gpuforge/sim/opcode_class.h"

namespace gpuforge::sim {

std::string_view name(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds:
      return "out_of_bounds";
    case FindingKind::misaligned:
      return "misaligned";
    case FindingKind::use_after_free:
      return "use_after_free";
    case FindingKind::read_only:
      return "read_only";
    case FindingKind::uninitialized:
      return "uninitialized";
    case FindingKind::race:
      return "race";
    case FindingKind::barrier:
      return "barrier";
    case FindingKind::warp_sync:
      return "warp_sync";
    case FindingKind::deadlock:
      return "deadlock";
    case FindingKind::order_dependence:
      return "order_dependence";
    case FindingKind::assertion:
      return "assertion";
    case FindingKind::trap:
      return "trap";
    case FindingKind::step_limit:
      return "step_limit";
    case FindingKind::stack_overflow:
      return "stack_overflow";
  }
  return "unknown";
}

std::string_view name(OpClass value) {
  switch (value) {
    case OpClass::integer:
      return "integer";
    case OpClass::logic:
      return "logic";
    case OpClass::fp16:
      return "fp16";
    case OpClass::fp32:
      return "fp32";
    case OpClass::fp64:
      return "fp64";
    case OpClass::special_function:
      return "special_function";
    case OpClass::conversion:
      return "conversion";
    case OpClass::comparison:
      return "comparison";
    case OpClass::move:
      return "move";
    case OpClass::control:
      return "control";
    case OpClass::load:
      return "load";
    case OpClass::store:
      return "store";
    case OpClass::atomic:
      return "atomic";
    case OpClass::warp:
      return "warp";
    case OpClass::barrier:
      return "barrier";
    case OpClass::fence:
      return "fence";
    case OpClass::other:
      return "other";
  }
  return "unknown";
}

}  // namespace gpuforge::sim
