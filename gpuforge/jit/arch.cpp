#include "gpuforge/jit/arch.h"

#include <algorithm>
#include <limits>

#include "gpuforge/base/error.h"

namespace gpuforge::jit {
namespace {

constexpr int kWarpThreads = 32;
constexpr int kMaxThreadsPerBlock = 1024;
constexpr int kMaxRegistersPerThread = 255;
constexpr int kRegisterUnit = 256;        // registers are given to a warp in steps of this
constexpr int kSubPartitions = 4;         // each with a quarter of the registers; a warp lives in one
constexpr std::size_t kSharedUnit = 128;  // shared memory is given to a block in steps of this
constexpr std::size_t kKiB = 1024;

ArchLimits limits_of(int warps, int blocks, std::size_t shared_kib) {
  return {.max_warps = warps,
          .max_blocks = blocks,
          .shared_bytes = shared_kib * kKiB,
          .shared_per_block_bytes = (shared_kib - 1) * kKiB};
}

constexpr Arch kListed[] = {{8, 0, 0, false},   {8, 6, 0, false},    {8, 9, 0, false},
                            {9, 0, 'a', false}, {10, 0, 'a', false}, {12, 0, 'a', false}};

constexpr std::string_view kKnown =
    "sm_80, sm_86, sm_87, sm_89, sm_90[a], sm_100[a], sm_103[a], sm_110[a], sm_120[a], sm_121[a], or "
    "compute_.. for PTX";

bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

int round_up(int value, int unit) {
  return (value + unit - 1) / unit * unit;
}

// Blocks that find registers: every warp of a block must find room in a sub-partition.
int blocks_by_registers(const ArchLimits& limits, int registers_per_thread, int warps_per_block) {
  if (registers_per_thread <= 0) return std::numeric_limits<int>::max();
  if (registers_per_thread > kMaxRegistersPerThread) return 0;
  const int per_warp = round_up(registers_per_thread * kWarpThreads, kRegisterUnit);
  const int warps = limits.registers / kSubPartitions / per_warp * kSubPartitions;
  return warps / warps_per_block;
}

int blocks_by_shared(const ArchLimits& limits, std::size_t shared_bytes) {
  if (shared_bytes > limits.shared_per_block_bytes) return 0;
  const std::size_t units = (shared_bytes + limits.reserved_shared_bytes + kSharedUnit - 1) / kSharedUnit;
  return static_cast<int>(limits.shared_bytes / (units * kSharedUnit));
}

}  // namespace

Arch Arch::parse(std::string_view text) {
  const auto unknown = [&] {
    throw Error(ErrorCode::invalid_argument,
                format_text("jit: unknown arch '{}': expected {}", text.substr(0, 40), kKnown));
  };
  std::string_view rest = text;
  Arch arch;
  arch.is_virtual = consume(rest, "compute_");
  if (!arch.is_virtual) consume(rest, "sm_");
  int number = 0;
  std::size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') {
    if (digits == 3) unknown();
    number = number * 10 + (rest[digits] - '0');
    ++digits;
  }
  rest.remove_prefix(digits);
  if (digits < 2 || text[text.size() - rest.size() - digits] == '0' || rest.size() > 1) unknown();
  if (!rest.empty()) arch.suffix = rest[0];
  if (arch.suffix != 0 && arch.suffix != 'a' && arch.suffix != 'f') unknown();
  arch.major = number / 10;
  arch.minor = number % 10;
  GPUFORGE_CHECK(number >= 80, "jit: arch '{}' is too old: gpuforge needs sm_80 (Ampere) or newer", text);
  GPUFORGE_CHECK(arch.suffix != 'a' || number >= 90,
                 "jit: there is no arch '{}': the suffix 'a' exists from sm_90a on", text);
  GPUFORGE_CHECK(arch.suffix != 'f' || number >= 100,
                 "jit: there is no arch '{}': the suffix 'f' exists from sm_100f on", text);
  return arch;
}

std::string Arch::name() const {
  std::string text = is_virtual ? "compute_" : "sm_";
  text += std::to_string(number());
  if (suffix != 0) text += suffix;
  return text;
}

std::span<const Arch> listed_archs() {
  return kListed;
}

// From the table "Technical Specifications per Compute Capability" of NVIDIA's programming guide.
std::optional<ArchLimits> arch_limits(const Arch& arch) {
  switch (arch.number()) {
    case 80:
      return limits_of(64, 32, 164);
    case 86:
      return limits_of(48, 16, 100);
    case 87:
      return limits_of(48, 16, 164);
    case 89:
      return limits_of(48, 24, 100);
    case 90:
    case 100:
    case 103:
      return limits_of(64, 32, 228);
    case 110:
      return limits_of(48, 24, 228);
    case 120:
    case 121:
      return limits_of(48, 24, 100);
    default:
      return std::nullopt;
  }
}

std::optional<Occupancy> occupancy(const Arch& arch, int registers_per_thread, std::size_t shared_bytes,
                                   int threads_per_block) {
  const std::optional<ArchLimits> limits = arch_limits(arch);
  if (!limits) return std::nullopt;
  if (threads_per_block < 1 || threads_per_block > kMaxThreadsPerBlock)
    return Occupancy{.limited_by = "threads"};
  const int warps_per_block = (threads_per_block + kWarpThreads - 1) / kWarpThreads;
  struct Bound {
    int blocks;
    std::string_view by;
  };
  // Of equal bounds the first is named.
  const Bound bounds[] = {{limits->max_warps / warps_per_block, "threads"},
                          {limits->max_blocks, "blocks"},
                          {blocks_by_registers(*limits, registers_per_thread, warps_per_block), "registers"},
                          {blocks_by_shared(*limits, shared_bytes), "shared memory"}};
  const Bound& tightest =
      *std::min_element(std::begin(bounds), std::end(bounds),
                        [](const Bound& a, const Bound& b) { return a.blocks < b.blocks; });
  const int warps = tightest.blocks * warps_per_block;
  return Occupancy{.blocks = tightest.blocks,
                   .warps = warps,
                   .fraction = static_cast<double>(warps) / limits->max_warps,
                   .limited_by = tightest.by};
}

}  // namespace gpuforge::jit
