#include "cli/lab_session.h"

#include <algorithm>

#include "gpuforge/device/open_device.h"
#include "gpuforge/lab/tuning_cache.h"
#include "gpuforge/ops/registry.h"
#include "gpuforge/ops/tuned_choices.h"

namespace gpuforge::cli {
namespace {

std::shared_ptr<Context> make_context(Session& session, std::shared_ptr<device::Device> device) {
  ContextOptions options;
  options.jit = jit_options(session);
  options.log = session.log;
  options.tuning = tuning_for(session, device->facts());
  options.allocator = allocator_for(session.environment, device);
  return Context::make(std::move(device), std::move(options));
}

}  // namespace

std::optional<std::filesystem::path> tuning_folder(const Session& session) {
  return lab::tuning_folder(session.settings.cache_dir);
}

TuningTable tuning_for(const Session& session, const device::DeviceFacts& facts) {
  const auto folder = tuning_folder(session);
  return session.tuning && folder ? ops::tuned_choices(*folder, facts, *session.log) : TuningTable{};
}

std::vector<lab::Op> named_ops(std::span<const std::string> names) {
  if (names.empty()) return ops::all_ops();
  std::vector<lab::Op> list;
  for (const std::string& name : names) {
    const bool known =
        std::any_of(list.begin(), list.end(), [&](const lab::Op& op) { return op.name == name; });
    if (!known) list.push_back(ops::find_op(name));
  }
  return list;
}

std::shared_ptr<Context> open_lab_context(Session& session) {
  const cuda::SearchOptions search = cuda::search_options(session.environment);
  const Progress progress(session.messages, "opening the device");
  if (session.settings.device) {
    auto context = make_context(session, device::open_device(*session.settings.device, search));
    if (context->device().facts().kind == device::DeviceKind::sim) context->jit().compiles_with_clang();
    return context;
  }
  std::string fallback;
  auto context = make_context(session, device::open_default_kernel_device(search, &fallback));
  if (!fallback.empty()) session.log->warning("{}", fallback);
  if (context->device().facts().kind != device::DeviceKind::sim) return context;
  try {
    context->jit().compiles_with_clang();  // whether anything compiles
    return context;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable) throw;
    session.log->warning("the simulator has nothing to compile kernels with, so the cpu's own code runs: {}",
                         error.message());
    return make_context(session, device::open_device("cpu", search));
  }
}

}  // namespace gpuforge::cli
