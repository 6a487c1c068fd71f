// An array on the CPU, and a kernel compiled when NVRTC is here; no GPU needed.
#include <cstdio>

#include "gpuforge/array/array.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/context/context.h"
#include "gpuforge/device/open_device.h"

int main() {
  using namespace gpuforge;
  const Environment environment = read_environment();
  auto device = device::open_device("cpu", cuda::search_options(environment));
  auto context = Context::make(device, {.jit = jit_options(environment)});
  auto stream = context->make_stream();

  const Array a = arange(context, 0, 6, 1, DType::f32, *stream).reshape({2, 3});
  std::printf("%s\n", to_string(a.transpose(), *stream).c_str());

  try {
    const jit::KernelSource source{
        .name = "twice.cu",
        .text = "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }"};
    const auto compiled = context->jit().compile(source, jit::Arch::parse("sm_90a"));
    std::printf("twice: %d registers on %s\n", compiled->entry("twice").registers,
                compiled->arch.name().c_str());
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return error.code() == ErrorCode::unavailable ? 0 : 1;
  }
}
