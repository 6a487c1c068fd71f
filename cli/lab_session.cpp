#include "cli/lab_session.h"

#include <algorithm>
#include <map>
#include <set>

#include "gpuforge/device/open_device.h"
#include "gpuforge/lab/tuning_cache.h"
#include "gpuforge/ops/registry.h"

namespace gpuforge::cli {
namespace {

std::shared_ptr<Context> make_context(Session& session, std::shared_ptr<device::Device> device) {
  ContextOptions options;
  options.jit = jit_options(session);
  options.log = session.log;
  options.tuning = tuning_for(session, device->facts());
  return Context::make(std::move(device), std::move(options));
}

// Whether an op of the library has the configuration of a record. A kernel file judges for itself.
lab::StillHas still_has(const device::DeviceFacts& facts) {
  struct Known {
    std::map<std::string, lab::Op> ops;
    std::map<std::string, std::set<Config>> configs;  // by op, variant and problem
  };
  const auto known = std::make_shared<Known>();
  for (lab::Op& op : ops::all_ops()) known->ops.emplace(op.name, std::move(op));
  return [known, facts](const lab::TuningRecord& record) {
    const auto op = known->ops.find(record.key.op);
    if (op == known->ops.end()) return true;
    const std::string& variant = record.key.variant;
    const auto [configs, is_new] = known->configs.try_emplace(
        format_text("{} {} {}", record.key.op, variant, to_string(record.problem)));
    if (is_new) {
      try {
        for (Config& config : op->second.configs(record.problem, variant, facts))
          configs->second.insert(std::move(config));
        configs->second.insert(op->second.choose(record.problem, variant, facts, {}).config);
      } catch (const Error&) {
        configs->second.clear();  // it has lost the variant, an option, or such shapes
      }
    }
    return configs->second.contains(record.config);
  };
}

}  // namespace

std::optional<std::filesystem::path> tuning_folder(const Session& session) {
  if (!session.settings.cache_dir) return std::nullopt;
  return *session.settings.cache_dir / "tuning";
}

TuningTable tuning_for(const Session& session, const device::DeviceFacts& facts) {
  const auto folder = tuning_folder(session);
  if (!session.tuning || !folder || facts.kind == device::DeviceKind::cpu) return {};
  TuningTable table = lab::load_tuning_table(*folder, facts, *session.log, still_has(facts));
  if (table.size() > 0) {
    session.log->info("{} {} tuned on {} ({}), from {}", table.size(),
                      table.size() == 1 ? "choice was" : "choices were", facts.name, facts.product,
                      folder->string());
  }
  return table;
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
