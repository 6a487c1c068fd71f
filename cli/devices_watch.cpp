#include "cli/devices_watch.h"

#include <chrono>
#include <thread>

#include "cli/report.h"
#include "cli/table.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/cuda/nvml.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge::cli {
namespace {

// From NVML where it is there; else memory alone, of the devices that this program can open.
class Looker {
 public:
  explicit Looker(Session& session) {
    const cuda::SearchOptions search = cuda::search_options(session.environment);
    std::string why;
    nvml_ = cuda::Nvml::try_load(search, &why);
    if (nvml_ == nullptr) {
      session.messages.note(format_text(
          "NVML is not there, so memory alone is shown, and of GPUs this program can open: {}", why));
    }
    for (const auto& listing : device::list_devices(search)) {
      const bool gpu = listing.facts.kind == device::DeviceKind::cuda;
      const bool wanted = gpu ? nvml_ == nullptr : listing.facts.kind == device::DeviceKind::cpu;
      if (wanted && listing.usable) devices_.push_back(device::open_device(listing.facts.name, search));
    }
  }

  bool has_nvml() const { return nvml_ != nullptr; }

  struct Look {
    std::string name;
    cuda::GpuUse use;
  };
  std::vector<Look> look() const {
    std::vector<Look> all;
    if (nvml_ != nullptr) {
      for (cuda::GpuUse& use : nvml_->read()) {
        std::string name = format_text("gpu {}", use.index);
        all.push_back({std::move(name), std::move(use)});
      }
    }
    for (const auto& device : devices_) {
      const device::MemoryInfo memory = device->memory_info();
      cuda::GpuUse use;
      use.product = device->facts().product;
      use.memory_used_bytes = memory.total_bytes - memory.free_bytes;
      use.memory_total_bytes = memory.total_bytes;
      all.push_back({device->facts().name, std::move(use)});
    }
    return all;
  }

 private:
  std::unique_ptr<cuda::Nvml> nvml_;
  std::vector<std::shared_ptr<device::Device>> devices_;
};

template <typename Value>
Json optional_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

std::string percent(const std::optional<unsigned>& value) {
  return value ? format_text("{} %", *value) : std::string("-");
}

Json look_json(const std::vector<Looker::Look>& looks, double seconds, bool has_nvml) {
  Json list = Json::array();
  for (const auto& [name, use] : looks) {
    Json json = Json::object();
    json.set("device", name);
    json.set("product", use.product);
    json.set("memory_used_bytes", use.memory_used_bytes);
    json.set("memory_total_bytes", use.memory_total_bytes);
    json.set("busy_percent", optional_json(use.busy_percent));
    json.set("memory_busy_percent", optional_json(use.memory_busy_percent));
    json.set("power_watts", optional_json(use.power_watts));
    json.set("temperature_celsius", optional_json(use.temperature_celsius));
    list.push_back(std::move(json));
  }
  Json json = document("devices");
  json.set("seconds", seconds);
  json.set("nvml", has_nvml);
  json.set("use", std::move(list));
  return json;
}

std::string look_text(const std::vector<Looker::Look>& looks) {
  Table table({"device", ">memory used", ">of", ">busy", ">memory busy", ">power", ">temperature"});
  for (const auto& [name, use] : looks) {
    table.add_row(
        {name, show_bytes(use.memory_used_bytes), show_bytes(use.memory_total_bytes),
         percent(use.busy_percent), percent(use.memory_busy_percent),
         use.power_watts ? format_text("{:.0f} W", *use.power_watts) : std::string("-"),
         use.temperature_celsius ? format_text("{} C", *use.temperature_celsius) : std::string("-")});
  }
  return table.text();
}

}  // namespace

int watch_devices(Session& session, double every_s, std::int64_t looks) {
  const Looker looker(session);
  const auto began = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; looks == 0 || i < looks; ++i) {
    const auto due = began + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                 std::chrono::duration<double>(every_s * static_cast<double>(i)));
    std::this_thread::sleep_until(due);
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - began;
    const auto seen = looker.look();
    if (session.json) {
      session.out.line(look_json(seen, since.count(), looker.has_nvml()).dump());
    } else {
      session.out.write((i > 0 ? "\n" : "") + look_text(seen));
    }
    session.out.flush();
  }
  return kDone;
}

}  // namespace gpuforge::cli
