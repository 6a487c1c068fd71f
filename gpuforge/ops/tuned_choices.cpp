#include "gpuforge/ops/tuned_choices.h"

#include <map>
#include <memory>
#include <set>
#include <string>

#include "gpuforge/lab/tuning_cache.h"
#include "gpuforge/ops/registry.h"

namespace gpuforge::ops {
namespace {

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

TuningTable tuned_choices(const std::filesystem::path& folder, const device::DeviceFacts& facts, Log& log) {
  if (facts.kind == device::DeviceKind::cpu) return {};
  const std::vector<lab::TuningRecord> records = lab::read_tuning(folder, log);
  if (records.empty()) return {};
  TuningTable table = lab::tuning_table(records, lab::tuned_device(facts), still_has(facts));
  if (table.size() > 0) {
    log.info("{} {} tuned on {} ({}), from {}", table.size(),
             table.size() == 1 ? "choice was" : "choices were", facts.name, facts.product, folder.string());
  }
  return table;
}

}  // namespace gpuforge::ops
