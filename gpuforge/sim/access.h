// One warp-wide memory access, resolved to a space: what bounds checks, counters and the race detector look
// at.
#pragma once

#include <cstdint>

#include "gpuforge/sim/op.h"

namespace gpuforge::sim {

// How the active lanes' addresses lie. Contiguous: each active lane L is at first + (L - first lane) * bytes.
enum class Pattern : std::uint8_t { contiguous, uniform, other };

enum class Scope : std::uint8_t { cta, cluster, gpu, sys };
enum class Order : std::uint8_t { weak, relaxed, acquire, release, acq_rel };  // volatile is relaxed at sys

struct Access {
  const std::uint64_t* address = nullptr;  // per lane, those of `lanes` valid. shared: offsets; local:
                                           // offsets; global: addresses
  Mask lanes = 0;
  std::uint32_t bytes = 0;  // per lane, vectors whole
  Pattern pattern = Pattern::other;
  bool reads = false;
  bool writes = false;
  Order order = Order::weak;
  Scope scope = Scope::sys;
  const Op* op = nullptr;
  // Stores: what is about to be written, per lane `bytes` apart from each other; memory still has the old
  // bytes. Lets the race detector tell two writes of one value. nullptr: not known (atomics).
  const std::byte* values = nullptr;
};

}  // namespace gpuforge::sim
