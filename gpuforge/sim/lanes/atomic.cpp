// atom and red.
#include "gpuforge/sim/lanes/atomic_apply.h"
#include "gpuforge/sim/lanes/joined.h"
#include "gpuforge/sim/lanes/marked.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using namespace atomics;

bool reach_by_width(Warp& warp, const Op* op, const Request& request, Target* target) {
  const bool shared = op->space == Space::shared;
  switch (request.bytes) {
    case 4:
      return shared ? reach_shared<4>(warp, op, request, target) : reach_global<4>(warp, op, request, target);
    case 8:
      return shared ? reach_shared<8>(warp, op, request, target) : reach_global<8>(warp, op, request, target);
    default:
      return reach_any(warp, op, request, target);
  }
}

const Op* run_atomic(Warp& warp, const Op* op, const AtomicForm& form, Strength strength) {
  if (warp.active == 0) return op + 1;
  if (warp.mode == Mode::tracked) check_address(warp, op, form.bytes);
  Launch& launch = *warp.block->launch;
  SiteCounters* site = launch.checks.counters ? &launch.counters[op->site] : nullptr;
  const std::uint64_t useful = site != nullptr ? site->useful_bytes : 0;
  Target target;
  const Request request{form.bytes, Use::atomic, strength, nullptr, form.finds_unwritten, form.reduction};
  if (!reach_by_width(warp, op, request, &target)) return nullptr;
  if (site != nullptr)
    site->atomic_conflicts +=
        static_cast<std::uint64_t>(std::popcount(warp.active)) - (site->useful_bytes - useful) / form.bytes;
  if (warp.mode == Mode::tracked) check_operands(warp, op, form.values, form.bytes, form.first_data);
  form.apply(warp, op, target);
  return op + 1;
}

template <class A, Order kOrder, Scope kScope>
const Op* atomic(Warp& warp, const Op* op) {
  return run_atomic(warp, op, A::kForm, {kOrder, kScope});
}

template <class A, Order kOrder>
Handlers with_scope(const Match& match) {
  Handler found = atomic<A, kOrder, Scope::gpu>;
  if (match.has("cta")) found = atomic<A, kOrder, Scope::cta>;
  if (match.has("cluster")) found = atomic<A, kOrder, Scope::cluster>;
  if (match.has("sys")) found = atomic<A, kOrder, Scope::sys>;
  return {found, found};
}
template <class A>
Handlers with_strength(const Match& match) {
  if (match.has("acquire")) return with_scope<A, Order::acquire>(match);
  if (match.has("release")) return with_scope<A, Order::release>(match);
  if (match.has("acq_rel")) return with_scope<A, Order::acq_rel>(match);
  return with_scope<A, Order::relaxed>(match);
}

template <class Operation, class T, bool kReturns>
Handlers scalar(const Match& match) {
  return with_strength<Atomic<Operation, T, 1, kReturns>>(match);
}

template <bool kReturns>
Handlers bind_bits(const Match& match) {  // and or xor of b32 and b64
  using U = std::uint32_t;
  using L = std::uint64_t;
  const bool wide = match.type == Type::b64;
  if (match.has("and")) return wide ? scalar<And, L, kReturns>(match) : scalar<And, U, kReturns>(match);
  if (match.has("or")) return wide ? scalar<Or, L, kReturns>(match) : scalar<Or, U, kReturns>(match);
  return wide ? scalar<Xor, L, kReturns>(match) : scalar<Xor, U, kReturns>(match);
}

template <bool kReturns>
Handlers bind_count(const Match& match) {  // inc dec
  return match.has("inc") ? scalar<Increment, std::uint32_t, kReturns>(match)
                          : scalar<Decrement, std::uint32_t, kReturns>(match);
}

template <bool kReturns>
Handlers bind_order(const Match& match) {  // min max
  using U = std::uint32_t;
  using L = std::uint64_t;
  const bool least = match.has("min");
  switch (match.type) {
    case Type::u32:
      return least ? scalar<Min, U, kReturns>(match) : scalar<Max, U, kReturns>(match);
    case Type::s32:
      return least ? scalar<Signed<Min>, U, kReturns>(match) : scalar<Signed<Max>, U, kReturns>(match);
    case Type::u64:
      return least ? scalar<Min, L, kReturns>(match) : scalar<Max, L, kReturns>(match);
    case Type::s64:
      return least ? scalar<Signed<Min>, L, kReturns>(match) : scalar<Signed<Max>, L, kReturns>(match);
    default:
      return {};
  }
}

template <unsigned kElements, bool kReturns, HalfOperation kOperation>
Handlers bind_half(const Match& match) {
  switch (match.type) {
    case Type::f16:
      return with_strength<Atomic<OnHalf<Half, kOperation>, std::uint16_t, kElements, kReturns>>(match);
    case Type::bf16:
      return with_strength<Atomic<OnHalf<BFloat16, kOperation>, std::uint16_t, kElements, kReturns>>(match);
    case Type::f16x2:
      if constexpr (kElements <= 4)
        return with_strength<Atomic<OnHalfPair<Half, kOperation>, std::uint32_t, kElements, kReturns>>(match);
      return {};
    case Type::bf16x2:
      if constexpr (kElements <= 4)
        return with_strength<Atomic<OnHalfPair<BFloat16, kOperation>, std::uint32_t, kElements, kReturns>>(
            match);
      return {};
    default:
      return {};
  }
}

template <bool kReturns>
Handlers bind_add(const Match& match) {
  switch (match.type) {
    case Type::u32:
    case Type::s32:
      return scalar<Add, std::uint32_t, kReturns>(match);
    case Type::u64:
    case Type::s64:
      return scalar<Add, std::uint64_t, kReturns>(match);
    case Type::f32:
      return scalar<AddFloat, std::uint32_t, kReturns>(match);
    case Type::f64:
      return scalar<AddDouble, std::uint64_t, kReturns>(match);
    default:
      return bind_half<1, kReturns, HalfOperation::add>(match);
  }
}

Handlers bind_exchange(const Match& match) {
  switch (match.type) {
    case Type::b32:
      return scalar<Exchange, std::uint32_t, true>(match);
    case Type::b64:
      return scalar<Exchange, std::uint64_t, true>(match);
    default:
      return with_strength<AtomicWide<false>>(match);
  }
}

Handlers bind_swap(const Match& match) {
  switch (match.type) {
    case Type::b16:
      return scalar<CompareAndSwap, std::uint16_t, true>(match);
    case Type::b32:
      return scalar<CompareAndSwap, std::uint32_t, true>(match);
    case Type::b64:
      return scalar<CompareAndSwap, std::uint64_t, true>(match);
    default:
      return with_strength<AtomicWide<true>>(match);
  }
}

template <unsigned kElements, bool kReturns>
Handlers bind_elements(const Match& match) {
  if (match.has("min")) return bind_half<kElements, kReturns, HalfOperation::min>(match);
  if (match.has("max")) return bind_half<kElements, kReturns, HalfOperation::max>(match);
  if constexpr (kElements <= 4)
    if (match.type == Type::f32)
      return with_strength<Atomic<AddFloat, std::uint32_t, kElements, kReturns>>(match);
  return bind_half<kElements, kReturns, HalfOperation::add>(match);
}
template <bool kReturns>
Handlers bind_vector(const Match& match) {
  if (match.has("v2")) return bind_elements<2, kReturns>(match);
  if (match.has("v4")) return bind_elements<4, kReturns>(match);
  if constexpr (!kReturns)
    if (match.has("v8")) return bind_elements<8, kReturns>(match);
  return {};
}

constexpr std::string_view kAtomHead = "atom[.relaxed|.acquire|.release|.acq_rel][.cta|.cluster|.gpu|.sys]";
constexpr std::string_view kRedHead = "red[.relaxed|.release][.cta|.cluster|.gpu|.sys]";
constexpr std::string_view kSpaces = "[.global|.shared|.shared::cta]";
constexpr std::string_view kGlobal = "[.global]";
constexpr std::string_view kBits = "(.and|.or|.xor)[.L2::cache_hint](.b32|.b64)";
constexpr std::string_view kCount = "(.inc|.dec)[.L2::cache_hint].u32";
constexpr std::string_view kOrderOps = "(.min|.max)[.L2::cache_hint](.u32|.s32|.u64|.s64)";
constexpr std::string_view kAdd = ".add[.L2::cache_hint](.u32|.s32|.u64|.s64|.f32|.f64)";
constexpr std::string_view kAddHalf = ".add.noftz[.L2::cache_hint](.f16|.f16x2|.bf16|.bf16x2)";
constexpr std::string_view kExchange = ".exch[.L2::cache_hint](.b32|.b64|.b128)";
constexpr std::string_view kSwap = ".cas[.L2::cache_hint](.b16|.b32|.b64|.b128)";
constexpr std::string_view kAddVector = ".add[.L2::cache_hint](.v2|.v4).f32";
constexpr std::string_view kHalfVector =
    "(.add|.min|.max).noftz[.L2::cache_hint](.v2|.v4|.v8)(.f16|.bf16|.f16x2|.bf16x2)";
constexpr std::string_view kAtomOne = " d:t, [m], b:t, ?c:u64";
constexpr std::string_view kAtomTwo = " d:t, [m], b:t, c:t, ?e:u64";
constexpr std::string_view kAtomMany = " V:t, [m], V:t, ?c:u64";
constexpr std::string_view kRedOne = " [m], b:t, ?c:u64";
constexpr std::string_view kRedMany = " [m], V:t, ?c:u64";

constexpr std::string_view kFlushes = "add.f32 flushes subnormals in global memory, as the manual says";
constexpr std::string_view kNoEight = "atom with .v8 is not supported; red is";

constexpr OpcodeRow kRows[] = {
    {kJoined<kAtomHead, kSpaces, kBits, kAtomOne>, OpClass::atomic, bind_bits<true>},
    {kJoined<kAtomHead, kSpaces, kCount, kAtomOne>, OpClass::atomic, bind_count<true>},
    {kJoined<kAtomHead, kSpaces, kOrderOps, kAtomOne>, OpClass::atomic, bind_order<true>},
    {kJoined<kAtomHead, kSpaces, kAdd, kAtomOne>, OpClass::atomic, bind_add<true>, kFlushes},
    {kJoined<kAtomHead, kSpaces, kAddHalf, kAtomOne>, OpClass::atomic, bind_add<true>},
    {kJoined<kAtomHead, kSpaces, kExchange, kAtomOne>, OpClass::atomic, bind_exchange},
    {kJoined<kAtomHead, kSpaces, kSwap, kAtomTwo>, OpClass::atomic, bind_swap},
    {kJoined<kAtomHead, kGlobal, kAddVector, kAtomMany>, OpClass::atomic, bind_vector<true>},
    {kJoined<kAtomHead, kGlobal, kHalfVector, kAtomMany>, OpClass::atomic, bind_vector<true>, kNoEight},
    {kJoined<kRedHead, kSpaces, kBits, kRedOne>, OpClass::atomic, bind_bits<false>},
    {kJoined<kRedHead, kSpaces, kCount, kRedOne>, OpClass::atomic, bind_count<false>},
    {kJoined<kRedHead, kSpaces, kOrderOps, kRedOne>, OpClass::atomic, bind_order<false>},
    {kJoined<kRedHead, kSpaces, kAdd, kRedOne>, OpClass::atomic, bind_add<false>, kFlushes},
    {kJoined<kRedHead, kSpaces, kAddHalf, kRedOne>, OpClass::atomic, bind_add<false>},
    {kJoined<kRedHead, kGlobal, kAddVector, kRedMany>, OpClass::atomic, bind_vector<false>},
    {kJoined<kRedHead, kGlobal, kHalfVector, kRedMany>, OpClass::atomic, bind_vector<false>},
};

}  // namespace

std::span<const OpcodeRow> atomic_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
