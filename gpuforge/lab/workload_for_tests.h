// A workload without kernels, and a context on a chosen device. Included by tests alone.
#pragma once

#include "gpuforge/base/environment.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/lab/workload.h"

namespace gpuforge::lab {

inline std::shared_ptr<Context> context_on(std::string_view device, const cuda::SearchOptions& search) {
  ContextOptions options;
  options.jit = jit_options(read_environment());
  options.jit.cache_dir.reset();
  return Context::make(device::open_device(device, search), std::move(options));
}

// out = x, by a copy of the stream: it runs on every device.
inline Op copy_op() {
  Op op;
  op.name = "copy";
  op.variants = {{"best", ""}};
  op.dtypes = {DType::f16, DType::f32};
  op.operands = [](const Problem& problem) -> std::vector<Operand> {
    return {{.name = "out", .role = Role::output, .dtype = problem.dtype, .shape = problem.shape},
            {.name = "x", .role = Role::input, .dtype = problem.dtype, .shape = problem.shape}};
  };
  op.reference = [](const Problem&, std::span<const HostTensor> inputs, const EachRow&) {
    return std::vector<Expected>{{inputs[0].values, {}}};
  };
  op.tolerance = [](const Problem&, std::size_t) { return Tolerance{}; };
  op.cost = [](const Problem& problem) -> Cost {
    const double bytes =
        static_cast<double>(element_count(problem.shape)) * static_cast<double>(element_bytes(problem.dtype));
    return {.bytes_read = bytes, .bytes_written = bytes};
  };
  op.run = [](const Call& call) {
    call.stream.copy(call.operands[0].address(), call.operands[1].address(), call.operands[0].bytes());
  };
  return op;
}

}  // namespace gpuforge::lab
