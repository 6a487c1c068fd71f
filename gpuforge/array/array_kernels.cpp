#include "gpuforge/array/array_kernels.h"

#include <algorithm>
#include <array>

namespace gpuforge {
namespace {

constexpr jit::FixedText kFile = "gpuforge/array/array.cu";
constexpr std::uint32_t kThreads = 256;  // array.cu's launch bound
constexpr std::int64_t kPack = 4;        // elements a thread of convert_run takes at once

// The same members as Walk in array.cu.
struct DeviceWalk {
  std::array<std::int64_t, kMaxRank> extents{};
  std::array<std::int64_t, kMaxRank> to_strides{};
  std::array<std::int64_t, kMaxRank> from_strides{};
  std::int32_t rank = 0;
};

DeviceWalk device_walk(const StridedWalk& walk) {
  DeviceWalk result;
  std::copy(walk.extents.begin(), walk.extents.end(), result.extents.begin());
  std::copy(walk.to_strides.begin(), walk.to_strides.end(), result.to_strides.begin());
  std::copy(walk.from_strides.begin(), walk.from_strides.end(), result.from_strides.begin());
  result.rank = static_cast<std::int32_t>(walk.extents.size());
  return result;
}

// Enough blocks to fill the device some times over; the kernels' loops take the rest.
device::LaunchConfig grid_for(std::int64_t items, const device::DeviceFacts& facts) {
  const std::int64_t wanted = (items + kThreads - 1) / kThreads;
  const std::int64_t most = std::int64_t{std::max(facts.multiprocessors, 1)} * 32;
  device::LaunchConfig config;
  config.grid.x = static_cast<std::uint32_t>(std::clamp<std::int64_t>(wanted, 1, most));
  config.block.x = kThreads;
  return config;
}

template <typename... Args>
void launch(Context& context, const jit::KernelId& id, std::int64_t items, device::Stream& stream,
            const Args&... args) {
  const auto kernel = context.jit().embedded_kernel(id, context.device());
  (*kernel)(grid_for(items, context.device().facts()), stream, args...);
}

device::Address moved(device::Address address, std::int64_t elements, std::size_t bytes) {
  return address + static_cast<device::Address>(elements * static_cast<std::int64_t>(bytes));
}

}  // namespace

jit::KernelSource array_kernel_source(const jit::Jit& jit, std::string expression) {
  jit::KernelSource source = jit.embedded_source(kFile.text());
  source.instantiations = {std::move(expression)};
  return source;
}

jit::KernelId copy_kernel_id(DType to, DType from, bool strided) {
  const jit::FixedText kernel =
      strided ? jit::FixedText("gpuforge::copy_strided") : jit::FixedText("gpuforge::convert_run");
  if (to != from) return {kFile, kernel, to, from};
  const jit::BitsType bits{element_bytes(to)};
  return {kFile, kernel, bits, bits};
}

jit::KernelId fill_kernel_id(std::size_t bytes) {
  return {kFile, "gpuforge::fill_strided", jit::BitsType{bytes}};
}

jit::KernelId range_kernel_id(DType dtype) {
  return {kFile, "gpuforge::fill_range", dtype};
}

void launch_copy(Context& context, Elements to, Elements from, const StridedWalk& walk,
                 device::Stream& stream) {
  const std::int64_t count = element_count(walk.extents);
  const device::Address to_address = moved(to.address, walk.to_start, element_bytes(to.dtype));
  const device::Address from_address = moved(from.address, walk.from_start, element_bytes(from.dtype));
  if (walk.dense()) {
    const auto packs = [](device::Address address, std::size_t bytes) {
      return address % std::min<std::size_t>(kPack * bytes, 16) == 0;
    };
    const bool packed =
        packs(to_address, element_bytes(to.dtype)) && packs(from_address, element_bytes(from.dtype));
    launch(context, copy_kernel_id(to.dtype, from.dtype, false), packed ? count / kPack : count, stream,
           to_address, from_address, count, std::int32_t{packed});
  } else {
    launch(context, copy_kernel_id(to.dtype, from.dtype, true), count, stream, to_address, from_address,
           count, device_walk(walk));
  }
}

void launch_fill(Context& context, device::Address to, std::uint64_t bits, std::size_t bytes,
                 const StridedWalk& walk, device::Stream& stream) {
  const std::int64_t count = element_count(walk.extents);
  launch(context, fill_kernel_id(bytes), count, stream, moved(to, walk.to_start, bytes), bits, count,
         device_walk(walk));
}

void launch_range(Context& context, Elements to, std::int64_t count, double start, double step,
                  device::Stream& stream) {
  launch(context, range_kernel_id(to.dtype), count, stream, to.address, count, start, step);
}

}  // namespace gpuforge
