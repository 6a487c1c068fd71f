// The room's kernels (array.cu) as functions, for devices that run kernels. Each dtype pair is compiled when
// it is first asked for.
#pragma once

#include "gpuforge/array/strided.h"
#include "gpuforge/context/context.h"

namespace gpuforge {

// Where a view begins, and what is there.
struct Elements {
  device::Address address = 0;
  DType dtype = DType::f32;
};

void launch_copy(Context& context, Elements to, Elements from, const StridedWalk& walk,
                 device::Stream& stream);
// The low `element_bytes` of `bits` into every element of the walk's destination.
void launch_fill(Context& context, device::Address to, std::uint64_t bits, std::size_t element_bytes,
                 const StridedWalk& walk, device::Stream& stream);
void launch_range(Context& context, Elements to, std::int64_t count, double start, double step,
                  device::Stream& stream);

// The source that launch_* compile, for tests that compile without a device.
jit::KernelSource array_kernel_source(const jit::Jit& jit, std::string expression);
jit::KernelId copy_kernel_id(DType to, DType from, bool strided);
jit::KernelId fill_kernel_id(std::size_t element_bytes);
jit::KernelId range_kernel_id(DType dtype);

}  // namespace gpuforge
