// ld, ldu, st, and the hints that do nothing here. Weak accesses to global and shared memory have handlers of
// their own; the others ask for their space when they run.
#include <array>

#include "gpuforge/sim/lanes/cells.h"
#include "gpuforge/sim/lanes/joined.h"
#include "gpuforge/sim/lanes/marked.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

// Arguments and results of calls: always in bounds, nothing to check.
void function_param_target(Warp& warp, const Op* op, Target* target) {
  std::uint32_t stride = 0;
  const auto base = reinterpret_cast<std::uint64_t>(function_param(warp, op, &stride)) +
                    static_cast<std::uint64_t>(op->immediate);
  target->pattern = Pattern::other;
  for (std::uint64_t lane = 0; lane < kLanes; ++lane) target->host[lane] = base + lane * stride;
}

bool reach_strong(Warp& warp, const Op* op, const Request& request, Target* target) {
  if (op->space == Space::function_param) {
    function_param_target(warp, op, target);
    return true;
  }
  return reach_any(warp, op, request, target);
}

template <class F>
const Op* load_any(Warp& warp, const Op* op, Strength strength) {
  if (warp.active == 0) return op + 1;
  Target target;
  if (warp.mode == Mode::tracked) check_address(warp, op, F::kBytes);
  const Request request{F::kBytes, Use::read, strength, nullptr, true};
  if (!reach_strong(warp, op, request, &target)) return nullptr;
  if (warp.mode == Mode::tracked && op->space == Space::function_param)
    load_param_marks(warp, op, F::kCount, sizeof(typename F::Element));
  load_target<F>(warp, op, target);
  return op + 1;
}
template <class F, Order kOrder, Scope kScope>
const Op* load(Warp& warp, const Op* op) {
  return load_any<F>(warp, op, {kOrder, kScope});
}
template <class F, bool kShared>
const Op* load_weak(Warp& warp, const Op* op) {
  if (warp.active == 0) [[unlikely]]
    return op + 1;
  Target target;
  if (warp.mode == Mode::tracked) [[unlikely]]
    check_address(warp, op, F::kBytes);
  const Request request{F::kBytes, Use::read, {}, nullptr, true};
  const bool reached = kShared ? reach_shared<F::kBytes>(warp, op, request, &target)
                               : reach_global<F::kBytes>(warp, op, request, &target);
  if (!reached) [[unlikely]]
    return nullptr;
  load_target<F>(warp, op, target);
  return op + 1;
}

template <class F>
const Op* store_any(Warp& warp, const Op* op, Strength strength) {
  if (warp.active == 0) return op + 1;
  Target target;
  Cells<F> space_for_cells;
  const std::byte* cells = rows_to_cells<F>(warp, op, space_for_cells);
  const bool tracked = warp.mode == Mode::tracked;
  if (tracked) check_address(warp, op, F::kBytes);
  const Request request{F::kBytes, Use::write, strength, cells, true};
  if (!reach_strong(warp, op, request, &target)) return nullptr;
  if (tracked && op->space == Space::function_param)
    store_param_marks(warp, op, F::kCount, sizeof(typename F::Element));
  else if (tracked)
    check_data(warp, op, F::kCount, sizeof(typename F::Element));
  store_target<F::kBytes>(warp, cells, target);
  return op + 1;
}
template <class F, Order kOrder, Scope kScope>
const Op* store(Warp& warp, const Op* op) {
  return store_any<F>(warp, op, {kOrder, kScope});
}
template <class F, bool kShared>
const Op* store_weak(Warp& warp, const Op* op) {
  if (warp.active == 0) [[unlikely]]
    return op + 1;
  Target target;
  Cells<F> space_for_cells;
  const std::byte* cells = rows_to_cells<F>(warp, op, space_for_cells);
  if (warp.mode == Mode::tracked) [[unlikely]]
    check_address(warp, op, F::kBytes);
  const Request request{F::kBytes, Use::write, {}, cells, true};
  const bool reached = kShared ? reach_shared<F::kBytes>(warp, op, request, &target)
                               : reach_global<F::kBytes>(warp, op, request, &target);
  if (!reached) [[unlikely]]
    return nullptr;
  if (warp.mode == Mode::tracked) [[unlikely]]
    check_data(warp, op, F::kCount, sizeof(typename F::Element));
  store_target<F::kBytes>(warp, cells, target);
  return op + 1;
}

// The handlers of one form, by where and how strong.
struct FormHandlers {
  Handler global = nullptr;
  Handler shared = nullptr;
  Handler weak = nullptr;  // local and param
  std::array<Handler, 4> relaxed{};
  std::array<Handler, 4> ordered{};  // acquire or release, by scope
};
template <class F>
constexpr FormHandlers load_handlers() {
  using enum Scope;
  constexpr Order r = Order::relaxed, a = Order::acquire;
  return {load_weak<F, false>,
          load_weak<F, true>,
          load<F, Order::weak, sys>,
          {load<F, r, cta>, load<F, r, cluster>, load<F, r, gpu>, load<F, r, sys>},
          {load<F, a, cta>, load<F, a, cluster>, load<F, a, gpu>, load<F, a, sys>}};
}
template <class F>
constexpr FormHandlers store_handlers() {
  using enum Scope;
  constexpr Order r = Order::relaxed, a = Order::release;
  return {store_weak<F, false>,
          store_weak<F, true>,
          store<F, Order::weak, sys>,
          {store<F, r, cta>, store<F, r, cluster>, store<F, r, gpu>, store<F, r, sys>},
          {store<F, a, cta>, store<F, a, cluster>, store<F, a, gpu>, store<F, a, sys>}};
}

template <class E, bool kLoad>
FormHandlers handlers_of(unsigned count) {
  const auto pick = []<class F>() { return kLoad ? load_handlers<F>() : store_handlers<F>(); };
  if (count == 1) return pick.template operator()<Form<E, 1>>();
  if constexpr (sizeof(E) <= 8) {
    if (count == 2) return pick.template operator()<Form<E, 2>>();
    if (count == 4) return pick.template operator()<Form<E, 4>>();
  }
  if constexpr (sizeof(E) == 4)
    if (count == 8) return pick.template operator()<Form<E, 8>>();
  return {};
}

template <bool kLoad>
FormHandlers handlers_of(Type type, unsigned count) {
  switch (type) {
    case Type::s8:
      if constexpr (kLoad) return handlers_of<std::int8_t, true>(count);
      [[fallthrough]];
    case Type::b8:
    case Type::u8:
      return handlers_of<std::uint8_t, kLoad>(count);
    case Type::s16:
      if constexpr (kLoad) return handlers_of<std::int16_t, true>(count);
      [[fallthrough]];
    case Type::b16:
    case Type::u16:
    case Type::f16:
    case Type::bf16:
      return handlers_of<std::uint16_t, kLoad>(count);
    case Type::s32:
      if constexpr (kLoad) return handlers_of<std::int32_t, true>(count);
      [[fallthrough]];
    case Type::b32:
    case Type::u32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2:
      return handlers_of<std::uint32_t, kLoad>(count);
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
      return handlers_of<std::uint64_t, kLoad>(count);
    case Type::b128:
      return handlers_of<Wide, kLoad>(count);
    default:
      return {};
  }
}

unsigned vector_count(const Match& match) {
  return match.has("v2") ? 2 : match.has("v4") ? 4 : match.has("v8") ? 8 : 1;
}
std::size_t scope_index(const Match& match) {
  return match.has("cta") ? 0 : match.has("cluster") ? 1 : match.has("gpu") ? 2 : 3;
}

template <bool kLoad>
Handlers bind_access(const Match& match) {
  const unsigned count = vector_count(match);
  const bool shared = match.has("shared") || match.has("shared::cta");
  const bool elsewhere =
      match.has("local") || match.has("param") || match.has("param::entry") || match.has("param::func");
  if (match.has("nc") && !match.has("global")) return {};
  // 32 bytes a lane are for global memory alone.
  if (static_cast<unsigned>(bits(match.type)) * count > 128 && (shared || elsewhere || match.has("const")))
    return {};
  const FormHandlers all = handlers_of<kLoad>(match.type, count);
  if (match.has("volatile") || match.has("mmio")) return both(all.relaxed[3]);
  if (match.has("relaxed")) return both(all.relaxed[scope_index(match)]);
  if (match.has("acquire") || match.has("release")) return both(all.ordered[scope_index(match)]);
  return both(shared ? all.shared : elsewhere ? all.weak : all.global);
}

const Op* nothing(Warp&, const Op* op) {
  return op + 1;
}
Handlers bind_nothing(const Match&) {
  return both(nothing);
}

// createpolicy: a policy is only ever handed to hints that do nothing.
const Op* make_policy(Warp& warp, const Op* op) {
  std::uint64_t* d = row<std::uint64_t>(warp, op->operand[0]);
  for (Mask left = warp.active; left != 0; left &= left - 1) d[first_lane(left)] = 0;
  return op + 1;
}
Handlers bind_policy(const Match&) {
  return both(make_policy);
}

// Pieces of the syntax that many rows share.
constexpr std::string_view kLoadSpace =
    "[.const|.global|.local|.param|.param::entry|.param::func|.shared|.shared::cta]";
constexpr std::string_view kStoreSpace = "[.global|.local|.param|.param::func|.shared|.shared::cta]";
constexpr std::string_view kStrongSpace = "[.global|.shared|.shared::cta]";
constexpr std::string_view kScopes = "(.cta|.cluster|.gpu|.sys)";
constexpr std::string_view kEviction =
    "[.L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate]"
    "[.L2::evict_normal|.L2::evict_first|.L2::evict_last][.L2::cache_hint]";
constexpr std::string_view kPrefetch = "[.L2::64B|.L2::128B|.L2::256B]";
constexpr std::string_view kVector = "(.v2|.v4|.v8)";
constexpr std::string_view kTypes =
    "(.b8|.b16|.b32|.b64|.b128|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)";
constexpr std::string_view kLoadOne = " d:x, [m], ?c:u64";
constexpr std::string_view kLoadMany = " V:x, [m], ?c:u64";
constexpr std::string_view kStoreOne = " [m], a:x, ?c:u64";
constexpr std::string_view kStoreMany = " [m], V:x, ?c:u64";

constexpr std::string_view kLoad = "ld[.weak]";
constexpr std::string_view kLoadCache = "[.ca|.cg|.cs|.lu|.cv][.nc]";
constexpr std::string_view kLoadVolatile = "ld.volatile";
constexpr std::string_view kLoadStrong = "ld(.relaxed|.acquire)";
constexpr std::string_view kLoadUniform = "ldu[.global]";
constexpr std::string_view kStore = "st[.weak]";
constexpr std::string_view kStoreCache = "[.wb|.cg|.cs|.wt]";
constexpr std::string_view kStoreVolatile = "st.volatile";
constexpr std::string_view kStoreStrong = "st(.relaxed|.release)";
constexpr std::string_view kLoadDevice = "ld.mmio.relaxed.sys[.global]";
constexpr std::string_view kStoreDevice = "st.mmio.relaxed.sys[.global]";

constexpr std::string_view kHint = "a hint: accepted, does nothing";

constexpr OpcodeRow kRows[] = {
    {kJoined<kLoad, kLoadSpace, kLoadCache, kEviction, kPrefetch, kTypes, kLoadOne>, OpClass::load,
     bind_access<true>},
    {kJoined<kLoad, kLoadSpace, kLoadCache, kEviction, kPrefetch, kVector, kTypes, kLoadMany>, OpClass::load,
     bind_access<true>},
    {kJoined<kLoadVolatile, kLoadSpace, kPrefetch, kTypes, kLoadOne>, OpClass::load, bind_access<true>},
    {kJoined<kLoadVolatile, kLoadSpace, kPrefetch, kVector, kTypes, kLoadMany>, OpClass::load,
     bind_access<true>},
    {kJoined<kLoadStrong, kScopes, kStrongSpace, kEviction, kPrefetch, kTypes, kLoadOne>, OpClass::load,
     bind_access<true>},
    {kJoined<kLoadStrong, kScopes, kStrongSpace, kEviction, kPrefetch, kVector, kTypes, kLoadMany>,
     OpClass::load, bind_access<true>},
    {kJoined<kLoadDevice, kTypes, kLoadOne>, OpClass::load, bind_access<true>},
    {kJoined<kLoadUniform, kTypes, kLoadOne>, OpClass::load, bind_access<true>},
    {kJoined<kLoadUniform, kVector, kTypes, kLoadMany>, OpClass::load, bind_access<true>},
    {kJoined<kStore, kStoreSpace, kStoreCache, kEviction, kTypes, kStoreOne>, OpClass::store,
     bind_access<false>},
    {kJoined<kStore, kStoreSpace, kStoreCache, kEviction, kVector, kTypes, kStoreMany>, OpClass::store,
     bind_access<false>},
    {kJoined<kStoreVolatile, kStoreSpace, kTypes, kStoreOne>, OpClass::store, bind_access<false>},
    {kJoined<kStoreVolatile, kStoreSpace, kVector, kTypes, kStoreMany>, OpClass::store, bind_access<false>},
    {kJoined<kStoreStrong, kScopes, kStrongSpace, kEviction, kTypes, kStoreOne>, OpClass::store,
     bind_access<false>},
    {kJoined<kStoreStrong, kScopes, kStrongSpace, kEviction, kVector, kTypes, kStoreMany>, OpClass::store,
     bind_access<false>},
    {kJoined<kStoreDevice, kTypes, kStoreOne>, OpClass::store, bind_access<false>},
    {"prefetch[.global|.local](.L1|.L2) [m]", OpClass::other, bind_nothing, kHint},
    {"prefetch.global(.L2::evict_last|.L2::evict_normal) [m]", OpClass::other, bind_nothing, kHint},
    {"prefetchu.L1 [m]", OpClass::other, bind_nothing, kHint},
    {"cp.async.bulk.prefetch.L2.global[.L2::cache_hint] [m], a:u32, ?b:u64", OpClass::other, bind_nothing,
     kHint},
    {"applypriority[.global].L2::evict_normal [m], n", OpClass::other, bind_nothing, kHint},
    {"discard[.global].L2 [m], n", OpClass::other, bind_nothing, "accepted; the bytes keep their values"},
    {"createpolicy.fractional(.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged)"
     "[.L2::evict_first|.L2::evict_unchanged].b64 d:u64, ?a:x",
     OpClass::other, bind_policy, kHint},
    {"createpolicy.range[.global](.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged)"
     "[.L2::evict_first|.L2::evict_unchanged].b64 d:u64, [m], a:u32, b:u32",
     OpClass::other, bind_policy, kHint},
    {"createpolicy.cvt.L2.b64 d:u64, a:u64", OpClass::other, bind_policy, kHint},
};

}  // namespace

std::span<const OpcodeRow> load_store_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
