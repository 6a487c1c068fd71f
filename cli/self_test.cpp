#include "cli/self_test.h"

#include "gpuforge/array/array.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge::cli {
namespace {

constexpr int kRows = 67;  // neither is a multiple of the tile
constexpr int kColumns = 130;

jit::KernelSource transpose_source() {
  const EmbeddedFile& file = cli_kernels().front();
  jit::KernelSource source;
  source.name = file.path;
  source.text = file.text;
  return source;
}

// cuda:0 where there is a usable one, else the simulator. What is wrong with a GPU that is there is said
// elsewhere.
std::shared_ptr<device::Device> open_test_device(const Session& session) {
  try {
    return device::open_device("cuda:0", cuda::search_options(session.environment));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable) throw;
    return device::make_sim_device();
  }
}

std::int64_t count_mismatches(const std::vector<float>& out, const std::vector<float>& in) {
  std::int64_t count = 0;
  for (std::size_t y = 0; y < kRows; ++y) {
    for (std::size_t x = 0; x < kColumns; ++x) count += out[x * kRows + y] != in[y * kColumns + x] ? 1 : 0;
  }
  return count;
}

}  // namespace

SelfTestResult run_self_test(const Session& session) {
  SelfTestResult result;
  const jit::KernelSource source = transpose_source();
  const auto device = open_test_device(session);
  ContextOptions options;
  options.jit = jit_options(session);
  options.log = session.log;
  const auto context = Context::make(device, std::move(options));
  const auto kernel = context->jit().kernel(source, "doctor_transpose", *device);
  const auto stream = context->make_stream();
  std::vector<float> values(std::size_t{kRows} * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.5f;
  const Array in = from_vector<float>(context, values, {kRows, kColumns}, *stream);
  const Array out = full(context, {kColumns, kRows}, -1.0, DType::f32, *stream);
  const device::Address to = out.address();
  const device::Address from = in.address();
  const int rows = kRows;
  const int columns = kColumns;
  const jit::Argument arguments[] = {{&to, sizeof to, "pointer"},
                                     {&from, sizeof from, "pointer"},
                                     {&rows, sizeof rows, "i32"},
                                     {&columns, sizeof columns, "i32"}};
  device::LaunchConfig config;
  config.grid = {(kColumns + 31) / 32, (kRows + 31) / 32, 1};
  config.block = {32, 8, 1};
  kernel->launch(config, arguments, *stream);
  result.mismatches = count_mismatches(out.to_vector<float>(*stream), values);
  result.elements = static_cast<std::int64_t>(values.size());
  result.device = device->facts().name;
  result.arch = kernel->compiled().arch.name();
  result.compile_ms = kernel->compiled().compile_ms;
  result.from_cache = kernel->compiled().from_cache;
  return result;
}

}  // namespace gpuforge::cli
