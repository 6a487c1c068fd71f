// Kernels that are brought onto the device while the one before them in the stream still ends, on devices of
// compute capability 9.0 and newer: that saves what lies between two kernels, 0.5 to 1 us. Elsewhere this
// does nothing.
#pragma once

namespace gpuforge {

// To be called before a thread's first access of memory: what was launched before has ended then, and all it
// wrote can be read. The kernel behind this one may come already, as far as there is room for it. jit::Kernel
// finds the comment in the PTX and launches such a kernel with LaunchConfig::programmatic.
__device__ inline void begin_after_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("// begin_after_previous_kernel\n\tgriddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;"
               :
               :
               : "memory");
#endif
}

}  // namespace gpuforge
