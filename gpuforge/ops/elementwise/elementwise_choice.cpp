#include <algorithm>
#include <limits>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/suggest.h"
#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/elementwise/elementwise_kernels.h"
#include "gpuforge/ops/elementwise/host_functions.h"

namespace gpuforge::ops {
namespace {

constexpr jit::FixedText kFile = "gpuforge/ops/elementwise/elementwise.cu";
constexpr int kBlocks[] = {128, 256, 512};
constexpr int kVectors[] = {4, 8, 16};
constexpr int kFlights[] = {1, 2, 4};

// What the innermost dimension and the addresses allow.
bool fits(const ElementWalk& walk, int vector) {
  if (vector == 1) return true;
  const std::size_t rank = walk.extents.size();
  if (rank > 1 && walk.extents.back() % vector != 0) return false;
  for (const WalkedArray& array : walk.arrays) {
    if (array.strides.back() != 1) continue;
    if (array.address % (static_cast<std::size_t>(vector) * element_bytes(array.dtype)) != 0) return false;
    for (std::size_t d = 0; d + 1 < rank; ++d) {
      if (array.strides[d] % vector != 0) return false;
    }
  }
  return true;
}

}  // namespace

Config to_config(const ElementwiseConfig& config) {
  return {{"block", config.block}, {"vector", config.vector}, {"flight", config.flight}};
}

ElementwiseConfig elementwise_config(std::string_view variant, const Config& config) {
  GPUFORGE_CHECK(variant == "best" || variant == "naive",
                 "elementwise: there is no variant '{}'; it has best, naive", variant);
  GPUFORGE_CHECK(variant == "best",
                 "elementwise: a configuration of naive, which has none, was expected; found {}",
                 to_string(config));
  GPUFORGE_CHECK(!config.empty(), "elementwise: a configuration of best was expected; found -");
  ElementwiseConfig result;
  for (const auto& [name, value] : config) {
    const bool known = (name == "block" && is_one_of(kBlocks, value)) ||
                       (name == "vector" && is_one_of(kVectors, value)) ||
                       (name == "flight" && is_one_of(kFlights, value));
    GPUFORGE_CHECK(
        known,
        "elementwise: there is no configuration {}={}; block is 128, 256 or 512, vector 4, 8 or 16 "
        "bytes, flight 1, 2 or 4",
        name, value);
    (name == "block"    ? result.block
     : name == "vector" ? result.vector
                        : result.flight) = static_cast<int>(value);
  }
  return result;
}

std::vector<Config> elementwise_configs() {
  std::vector<Config> list;
  for (const int block : kBlocks) {
    for (const int vector : kVectors) {
      for (const int flight : kFlights) list.push_back(to_config({block, vector, flight}));
    }
  }
  return list;
}

TuningKey elementwise_tuning_key(std::int64_t count, DType result, std::string_view variant) {
  return {"elementwise", std::string(variant), result, shape_class({count})};
}

ElementwiseChoice choose_elementwise(std::int64_t count, DType result, std::string_view variant,
                                     const device::DeviceFacts& facts, const TuningTable& table) {
  if (variant == "naive") return {{256, 0, 1}, "one element a thread"};
  GPUFORGE_CHECK(variant == "best", "elementwise: there is no variant '{}'; it has best, naive", variant);
  if (const Config* const tuned =
          table.find_by([&] { return elementwise_tuning_key(count, result, variant); })) {
    return {elementwise_config(variant, *tuned), "tuned on this device"};
  }
  ElementwiseConfig config;
  const std::int64_t vectors = count / (config.vector / static_cast<std::int64_t>(element_bytes(result)));
  const std::int64_t threads = std::int64_t{std::max(facts.multiprocessors, 1)} * 2048;
  config.flight = vectors >= 4 * threads ? 4 : vectors >= 2 * threads ? 2 : 1;
  return {config,
          Reason("{} vectors a thread for {} threads the device has at once", config.flight, threads)};
}

ElementwisePlan plan_elementwise(const ElementWalk& walk, const ElementwiseConfig& config) {
  ElementwisePlan plan;
  plan.config = config;
  std::size_t widest = 1;
  for (const WalkedArray& array : walk.arrays) widest = std::max(widest, element_bytes(array.dtype));
  plan.run = walk.unit_rows() && walk.extents.size() <= 1;
  if (walk.unit_rows() && !walk.extents.empty()) {
    plan.vector = std::max(1, config.vector / static_cast<int>(widest));
    while (!fits(walk, plan.vector)) plan.vector /= 2;
  }
  plan.vectors = walk.count() / plan.vector;
  plan.wide = walk.count() > std::numeric_limits<std::int32_t>::max();
  return plan;
}

jit::KernelId elementwise_kernel_id(const Resolution* how, const ElementWalk& walk,
                                    std::span<const KernelInput> inputs, const ElementwisePlan& plan) {
  jit::KernelId id(kFile, plan.run ? jit::FixedText("gpuforge::elementwise_run")
                                   : jit::FixedText("gpuforge::elementwise_walk"));
  if (how == nullptr) {
    id.add(jit::FixedText("gpuforge::Fused"));
  } else {
    id.open("gpuforge::Call");
    id.add_member("gpuforge::fn", jit::FixedText::of(how->function->name));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (how->truth[i]) {
        id.add(jit::FixedText("gpuforge::Truth"));
      } else {
        id.add(compute_dtype(how->operation));
      }
    }
    id.close();
  }
  id.add(walk.arrays[0].dtype);
  id.add(jit::BitsType{plan.wide ? 8u : 4u});
  for (const int number : {plan.config.block, plan.vector, plan.config.flight}) id.add(number);
  for (const KernelInput& input : inputs) {
    if (input.constant) {
      id.add(jit::OneOf{"gpuforge::Constant", input.bits.compute});
      continue;
    }
    const WalkedArray& array = walk.arrays[input.array];
    // A single element is of neighbours as much as repeated; a stride of 0 in the walk's own offsets is both.
    const bool repeated =
        (plan.run || plan.vector > 1) && (!walk.extents.empty() && array.strides.back() == 0);
    id.add(repeated ? jit::OneOf{"gpuforge::Repeated", array.dtype}
                    : jit::OneOf{"gpuforge::Elements", array.dtype});
  }
  return id;
}

void launch_elementwise(const jit::Kernel& kernel, const ElementWalk& walk,
                        std::span<const KernelInput> inputs, const ElementwisePlan& plan,
                        device::Stream& stream) {
  // The same members as Inputs and ElementWalk in elementwise.cuh.
  std::vector<std::uint64_t> values;
  values.reserve(inputs.size());
  for (const KernelInput& input : inputs) {
    values.push_back(input.constant ? input.bits.bits : walk.arrays[input.array].address);
  }
  const std::size_t rank = walk.extents.size();
  std::vector<std::int64_t> dimensions;
  if (!plan.run) {
    dimensions.assign(kMaxRank * (inputs.size() + 2) + 1, 0);
    for (std::size_t d = 0; d < rank; ++d) dimensions[d] = walk.extents[d];
    dimensions[rank - 1] /= plan.vector;
    const auto put = [&](std::size_t place, const WalkedArray& array) {
      for (std::size_t d = 0; d < rank; ++d) dimensions[kMaxRank * (place + 1) + d] = array.strides[d];
    };
    put(0, walk.arrays[0]);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].constant) put(i + 1, walk.arrays[inputs[i].array]);
    }
    dimensions.back() = static_cast<std::int64_t>(rank);
  }
  const std::uint64_t count = static_cast<std::uint64_t>(plan.run ? walk.count() : plan.vectors);
  const auto narrow_count = static_cast<std::uint32_t>(count);
  const device::Address out = walk.arrays[0].address;
  const jit::Argument arguments[] = {jit::argument(out),
                                     {values.data(), values.size() * sizeof(std::uint64_t), "struct"},
                                     plan.wide ? jit::argument(count) : jit::argument(narrow_count),
                                     {dimensions.data(), dimensions.size() * sizeof(std::int64_t), "struct"}};
  const std::int64_t tile = std::int64_t{plan.config.block} * plan.config.flight;
  const std::int64_t items = std::max<std::int64_t>(plan.vectors, 1);
  device::LaunchConfig launch;
  launch.grid.x = static_cast<std::uint32_t>((items + tile - 1) / tile);
  launch.block.x = static_cast<std::uint32_t>(plan.config.block);
  kernel.launch(launch, std::span(arguments, plan.run ? 3 : 4), stream);
}

}  // namespace gpuforge::ops
