// gpuforge devices: what this machine can run on.
#include "cli/device_json.h"
#include "cli/devices_watch.h"
#include "cli/report.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge::cli {
namespace {

std::string shown(std::size_t bytes) {
  return bytes > 0 ? show_bytes(bytes) : std::string("-");
}

int watch(Session& session, const Invocation& invocation) {
  const std::string every = *invocation.value("watch");
  double every_s = 1;
  if (!every.empty()) {
    const auto us = parse_duration_us(every);
    GPUFORGE_CHECK(us && *us >= 10'000,
                   "--watch takes a time of at least 10ms, such as 500ms or 2s; found '{}'", every);
    every_s = *us / 1e6;
  }
  const auto looks = invocation.value("looks");
  return watch_devices(session, every_s, looks ? require_count("--looks", *looks, 1, INT64_MAX) : 0);
}

int run(Session& session, const Invocation& invocation) {
  if (invocation.has("watch")) return watch(session, invocation);
  GPUFORGE_CHECK(!invocation.has("looks"), "--looks goes with --watch");
  const auto devices = [&] {
    const Progress progress(session.messages, "asking the CUDA driver");
    return device::list_devices(cuda::search_options(session.environment));
  }();
  if (session.json) {
    Json list = Json::array();
    for (const auto& device : devices) list.push_back(device_json(device));
    Json json = document("devices");
    json.set("devices", std::move(list));
    session.out.document(json);
    return kDone;
  }
  Table table({"device", "product", "arch", ">memory", ">multiprocessors", "usable"});
  std::string reasons;
  for (const auto& device : devices) {
    const auto& facts = device.facts;
    const std::string arch = !facts.pretended_arch.empty() ? facts.pretended_arch
                             : facts.compute_major > 0
                                 ? format_text("sm_{}{}", facts.compute_major, facts.compute_minor)
                                 : std::string("-");
    const std::string count =
        facts.multiprocessors > 0 ? format_text("{}", facts.multiprocessors) : std::string("-");
    table.add_row({facts.name, facts.product.empty() ? "-" : facts.product, arch, shown(facts.memory_bytes),
                   count, device.usable ? "yes" : "no"});
    if (device.usable) continue;
    // Some reasons begin with the device, some do not.
    const bool named = device.reason.starts_with(facts.name) || device.reason.starts_with("device ");
    reasons +=
        wrap(named ? device.reason : facts.name + ": " + device.reason, session.terminal.columns, 0) + "\n";
  }
  session.out.write(table.text());
  if (!reasons.empty()) session.out.write("\n" + reasons);
  return kDone;
}

constexpr Option kOptions[] = {
    {.name = "watch",
     .value = "TIME",
     .help = "live use: memory, and from NVML how busy GPUs are; --watch=500ms looks that often (1s)",
     .value_optional = true},
    {.name = "looks", .value = "N", .help = "with --watch: so many, then end"},
};
constexpr Example kExamples[] = {
    {.line = "gpuforge devices", .meaning = "a table; the first column is what --device takes"},
    {.line = "gpuforge devices --json", .meaning = "every fact, for scripts"},
    {.line = "gpuforge devices --watch", .meaning = "what is in use, every second, until Ctrl-C"},
};

}  // namespace

const Command kDevicesCommand = {
    .name = "devices",
    .summary = "list GPUs, simulator and CPU, usable or why not",
    .usage = "[--watch[=TIME] [--looks N]] [--json]",
    .options = kOptions,
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
