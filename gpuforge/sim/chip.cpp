#include "gpuforge/sim/chip.h"

#include <algorithm>
#include <charconv>

namespace gpuforge::sim {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kGiB = 1024 * kMiB;
constexpr int kWarpThreads = 32;
constexpr std::size_t kSharedUnit = 128;  // shared memory is given out in these
constexpr int kRegisterUnit = 256;        // registers are given to a warp in these
constexpr int kSubPartitions = 4;         // each with a quarter of the registers; a warp lives in one

struct Product {
  std::string_view name;
  int multiprocessors = 0;
  std::size_t memory_gib = 0;
  std::size_t l2_kib = 0;
};

constexpr Chip chip(int number, Product product, int max_threads, int max_blocks, std::size_t shared_kib,
                    int max_cluster_blocks) {
  return {.major = number / 10,
          .minor = number % 10,
          .product = product.name,
          .multiprocessors = product.multiprocessors,
          .memory_bytes = product.memory_gib * kGiB,
          .l2_bytes = product.l2_kib * kKiB,
          .max_threads = max_threads,
          .max_blocks = max_blocks,
          .shared_bytes = shared_kib * kKiB,
          .max_shared_per_block = shared_kib * kKiB - kReservedSharedBytes,
          .max_cluster_blocks = max_cluster_blocks};
}

// Limits: "Technical Specifications per Compute Capability" of NVIDIA's programming guide.
constexpr Chip kChips[] = {
    chip(80, {"A100 SXM", 108, 80, 40 * 1024}, 2048, 32, 164, 0),
    chip(86, {"RTX 3090", 82, 24, 6 * 1024}, 1536, 16, 100, 0),
    chip(87, {"Jetson AGX Orin", 16, 64, 4 * 1024}, 1536, 16, 164, 0),
    chip(89, {"RTX 4090", 128, 24, 72 * 1024}, 1536, 24, 100, 0),
    chip(90, {"H100 SXM", 132, 80, 50 * 1024}, 2048, 32, 228, 16),
    chip(100, {"B200", 148, 180, 126 * 1024}, 2048, 32, 228, 16),
    chip(103, {"B300", 148, 268, 126 * 1024}, 2048, 32, 228, 16),
    chip(110, {"Jetson AGX Thor", 20, 128, 32 * 1024}, 1536, 24, 228, 8),
    chip(120, {"RTX 5090", 170, 32, 96 * 1024}, 1536, 24, 100, 8),
    chip(121, {"GB10", 48, 128, 24 * 1024}, 1536, 24, 100, 8),
};

constexpr int kFirstWithA = 90;
constexpr int kFirstWithF = 100;
constexpr int kThorBefore = 101;  // what CUDA 12 called it
constexpr int kThor = 110;

struct Target {
  int number = 0;
  char suffix = 0;
};

// Warps of a multiprocessor that find their registers.
int warps_with_registers(const Chip& chip, int registers_per_thread) {
  if (registers_per_thread <= 0) return chip.max_threads / kWarpThreads;
  const int per_warp =
      (registers_per_thread * kWarpThreads + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
  return chip.registers / kSubPartitions / per_warp * kSubPartitions;
}

// sm_90a
std::optional<Target> read_target(std::string_view text) {
  constexpr std::string_view kPrefix = "sm_";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  const std::string_view rest = text.substr(kPrefix.size());
  Target target;
  const char* const last = rest.data() + rest.size();
  const auto [end, error] = std::from_chars(rest.data(), last, target.number);
  if (error != std::errc() || last - end > 1 || rest.front() == '0' || target.number < 10)
    return std::nullopt;
  if (end != last) target.suffix = *end;
  if (target.suffix != 0 && target.suffix != 'a' && target.suffix != 'f') return std::nullopt;
  return target;
}

}  // namespace

std::span<const Chip> chips() {
  return kChips;
}

std::optional<ChipName> find_chip(std::string_view arch) {
  const std::optional<Target> target = read_target(arch);
  if (!target || (target->suffix == 'a' && target->number < kFirstWithA) ||
      (target->suffix == 'f' && target->number < kFirstWithF))
    return std::nullopt;
  const auto found = std::find_if(std::begin(kChips), std::end(kChips), [&](const Chip& candidate) {
    return candidate.number() == target->number;
  });
  if (found == std::end(kChips)) return std::nullopt;
  return ChipName{found, target->suffix};
}

bool runs_target(const Chip& chip, std::string_view target) {
  const std::optional<Target> read = read_target(target);
  if (!read) return false;
  const int number = read->number == kThorBefore ? kThor : read->number;
  if (read->suffix == 'a') return number == chip.number();
  if (read->suffix == 'f') return number / 10 == chip.major && number <= chip.number();
  return number <= chip.number();
}

std::string known_chips() {
  std::string list;
  for (const Chip& known : kChips) {
    list += (list.empty() ? "sm_" : ", sm_") + std::to_string(known.number());
    if (known.number() >= kFirstWithF) {
      list += "[a|f]";
    } else if (known.number() >= kFirstWithA) {
      list += "[a]";
    }
  }
  return list;
}

int resident_blocks(const Chip& chip, int threads_per_block, std::size_t shared_bytes,
                    int registers_per_thread) {
  if (threads_per_block < 1 || threads_per_block > chip.max_threads_per_block) return 0;
  if (shared_bytes > chip.max_shared_per_block) return 0;
  const int warps = (threads_per_block + kWarpThreads - 1) / kWarpThreads;
  const std::size_t taken =
      (shared_bytes + kReservedSharedBytes + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
  return std::min({chip.max_threads / kWarpThreads / warps, chip.max_blocks,
                   static_cast<int>(chip.shared_bytes / taken),
                   warps_with_registers(chip, registers_per_thread) / warps});
}

int threads_with_registers(const Chip& chip, int registers_per_thread) {
  return std::min(chip.max_threads_per_block,
                  warps_with_registers(chip, registers_per_thread) * kWarpThreads);
}

}  // namespace gpuforge::sim
