// Rows of what steers a thread or orders its memory accesses.
#include <bit>

#include "gpuforge/sim/block.h"
#include "gpuforge/sim/fragments.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/schedule.h"
#include "gpuforge/sim/stack.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

template <Fence kind, Scope scope>
const Op* fence(Warp& warp, const Op* op) {
  RaceDetector* const races = warp.block->launch->races;
  if (races != nullptr) races->fence(warp, warp.active, kind, scope);
  return op + 1;
}
template <Fence kind>
Handlers with_scope(const Match& match) {
  Handler found = fence<kind, Scope::sys>;
  if (match.has("cta")) found = fence<kind, Scope::cta>;
  if (match.has("cluster")) found = fence<kind, Scope::cluster>;
  if (match.has("gpu") || match.has("gl")) found = fence<kind, Scope::gpu>;
  return {found, found};
}
Handlers bind_fence(const Match& match) {
  if (match.has("sc")) return with_scope<Fence::sc>(match);
  if (match.has("acquire")) return with_scope<Fence::acquire>(match);
  if (match.has("release")) return with_scope<Fence::release>(match);
  return with_scope<Fence::acq_rel>(match);
}
// What __threadfence becomes: another name of fence.sc.
Handlers bind_membar(const Match& match) {
  return with_scope<Fence::sc>(match);
}

const Op* nothing(Warp&, const Op* op) {
  return op + 1;
}
Handlers bind_nothing(const Match&) {
  return {nothing, nothing};
}

// Time passes; others get their turn.
const Op* sleep(Warp& warp, const Op* op) {
  warp.given -= warp.fuel;  // what is left of the turn was not used
  warp.fuel = 0;
  return op + 1;
}
Handlers bind_sleep(const Match&) {
  return {sleep, sleep};
}

const Op* trap(Warp& warp, const Op* op) {
  if (Finding* finding = report(warp, op, FindingKind::trap, std::countr_zero(warp.active), true))
    finding->message = "the kernel ended itself with trap";
  return nullptr;
}
Handlers bind_trap(const Match&) {
  return {trap, trap};
}

constexpr std::string_view kInOrder = "accepted: nothing is out of order here";

// Rows without a binder are the decoder's: it knows labels and functions.
constexpr OpcodeRow kRows[] = {
    {"bra[.uni] label", OpClass::control, nullptr},
    {"brx.idx[.uni] index, targets", OpClass::control, nullptr},
    {"call[.uni] (results), function, (arguments), prototype", OpClass::control, nullptr,
     "by name or through a register; printf and assert are built in"},
    {"ret[.uni]", OpClass::control, nullptr},
    {"exit", OpClass::control, nullptr},
    {"alloca(.u32|.u64) d:t, a:t", OpClass::other, bind_alloca},
    {"alloca(.u32|.u64) d:t, a:t, n", OpClass::other, bind_alloca},
    {"stacksave(.u32|.u64) d:t", OpClass::other, bind_stack_save},
    {"stackrestore(.u32|.u64) a:t", OpClass::other, bind_stack_restore},
    {"trap", OpClass::control, bind_trap},
    {"brkpt", OpClass::other, bind_nothing, "ignored"},
    {"pmevent[.mask] n", OpClass::other, bind_nothing, "ignored"},
    {"nanosleep.u32 a:u32", OpClass::other, bind_sleep},
    {"membar(.cta|.gl|.sys)", OpClass::fence, bind_membar},
    {"fence[.sc|.acq_rel|.acquire|.release](.cta|.cluster|.gpu|.sys)", OpClass::fence, bind_fence},
    {"fence.mbarrier_init.release.cluster", OpClass::fence, bind_nothing, kInOrder},
    {"fence.proxy.async[.global|.shared::cta|.shared::cluster]", OpClass::fence, bind_nothing, kInOrder},
    {"griddepcontrol(.launch_dependents|.wait)", OpClass::other, bind_nothing, "launches never overlap"},
};

}  // namespace

std::span<const OpcodeRow> control_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
