// Batches that go up, through a kernel and back, with the copies of one beside the kernel of another, and a
// profile of it. Every result is checked.
//   overlap [--batches N] [--trace FILE.json]     exit 1 when a result is wrong, 3 when there is no compiler
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "gpuforge/array/array.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/base/file.h"
#include "gpuforge/context/context.h"
#include "gpuforge/context/profiler.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/memory/transfer_engine.h"

namespace gpuforge {
std::span<const EmbeddedFile> overlap_kernels();  // saxpy.cu, compiled in
}

namespace {

using namespace gpuforge;

struct Arguments {
  int batches = 8;
  std::string trace;
};

struct Batch {
  std::shared_ptr<std::vector<float>> in, out;  // pageable: the engine stages it
  Array x, y;
  memory::Transfer up = {}, down = {};
};

int run(const std::shared_ptr<Context>& context, const Arguments& given) {
  device::Device& device = context->device();
  const int count = device.facts().kind == device::DeviceKind::cuda ? 1 << 24 : 1 << 14;
  const jit::KernelSource source{.name = "examples/saxpy.cu",
                                 .text = std::string(overlap_kernels().front().text)};
  const auto saxpy = context->jit().kernel(source, "saxpy", device);
  const auto compute = context->make_stream();

  Profiler profiler(device.shared_from_this());
  profiler.name_stream(*compute, "compute");
  profiler.snapshot("start");
  std::vector<Batch> batches;
  const auto n = static_cast<std::size_t>(count);
  for (int i = 0; i < given.batches; ++i) {
    batches.push_back({std::make_shared<std::vector<float>>(n, static_cast<float>(i)),
                       std::make_shared<std::vector<float>>(n), empty(context, {count}, DType::f32, *compute),
                       ones(context, {count}, DType::f32, *compute)});
  }
  // After what it writes to, so that it is gone before.
  memory::TransferEngine engine(device.shared_from_this(),
                                {.on_over = [&](const memory::TransferStatus& s) { profiler.add(s); }});
  const std::size_t bytes = n * sizeof(float);
  const auto ready = device.make_event();  // the memory is ready on `compute`, and copies go elsewhere
  compute->record(*ready);
  for (int i = 0; i < given.batches; ++i) {
    Batch& batch = batches[static_cast<std::size_t>(i)];
    batch.up = engine.to_device(batch.x.address(), batch.in->data(), bytes,
                                {.after = ready.get(), .keep = batch.in, .label = format_text("up {}", i)});
  }
  const device::LaunchConfig config{.grid = {static_cast<std::uint32_t>(count) / 256}, .block = {256}};
  for (int i = 0; i < given.batches; ++i) {
    Batch& batch = batches[static_cast<std::size_t>(i)];
    batch.up.order_before(*compute);  // the kernel runs after it; the next batch goes up meanwhile
    {
      const ProfileRange range(&profiler, *compute, "saxpy", 2.0 * count, 3.0 * static_cast<double>(bytes));
      (*saxpy)(config, *compute, 2.0f, batch.x, batch.y, count);
    }
    batch.down = engine.to_host(
        batch.out->data(), batch.y.address(), bytes,
        {.after_stream = compute.get(), .keep = batch.out, .label = format_text("down {}", i)});
  }
  profiler.snapshot("all queued");

  int wrong = 0;
  for (int i = 0; i < given.batches; ++i) {
    const Batch& batch = batches[static_cast<std::size_t>(i)];
    batch.down.wait();
    for (const float value : *batch.out) wrong += value == 2.0f * static_cast<float>(i) + 1.0f ? 0 : 1;
  }
  const ProfileReport report = profiler.report();
  std::printf("%s", to_text(report).c_str());
  std::printf("%d batches of %d elements on %s: %d wrong\n", given.batches, count,
              device.facts().name.c_str(), wrong);
  if (!given.trace.empty()) write_file(given.trace, chrome_trace(trace_events(report)).dump());
  return wrong == 0 ? 0 : 1;
}

bool parse(int argc, char** argv, Arguments& given) {
  for (int i = 1; i < argc; i += 2) {
    const std::string word = argv[i];
    if (i + 1 >= argc) return false;
    const std::string value = argv[i + 1];
    const char* const end = value.data() + value.size();
    if (word == "--batches") {
      const auto [stop, error] = std::from_chars(value.data(), end, given.batches);
      if (error != std::errc() || stop != end || given.batches < 1 || given.batches > 1000) return false;
    } else if (word == "--trace") {
      given.trace = value;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments given;
  if (!parse(argc, argv, given)) {
    std::fprintf(stderr, "usage: overlap [--batches 1..1000] [--trace FILE.json]\n");
    return 2;
  }
  try {
    const Environment environment = read_environment();
    std::string fallback;
    const auto device = device::open_default_kernel_device(cuda::search_options(environment), &fallback);
    if (!fallback.empty()) std::fprintf(stderr, "%s\n", fallback.c_str());
    return run(Context::make(device, {.jit = jit_options(environment)}), given);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code() == ErrorCode::unavailable ? 3 : error.code() == ErrorCode::io ? 2 : 1;
  }
}
