// The device `sim`: kernels run in the simulator (gpuforge/sim), everything else as on the cpu device.
// Every launch gives a report. One with findings that are not suppressed is an invalid_argument Error at the
// next synchronize: the first finding's sentence, and the whole report as its detail.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gpuforge/device/device.h"
#include "gpuforge/sim/simulator.h"

namespace gpuforge::device {

inline constexpr std::string_view kDefaultSimArch = "sm_90a";
using SimOptions = sim::Options;  // what `cancel` points at must outlive the device's work

// What the compiler of machine code says of a kernel of the same text; PTX does not tell.
struct KernelRegisters {
  std::string_view entry;
  int per_thread = 0;
};

class SimDevice : public virtual Device {
 public:
  // load_module, with the registers that threads of its kernels take on the chip: blocks that find too few
  // are refused. Those of kernels that are not named are not known, and do not count.
  virtual std::shared_ptr<Module> load_module_with(std::span<const std::byte> image, std::string_view name,
                                                   std::span<const KernelRegisters> registers) = 0;

  // Memory of the host that kernels may use like the device's own while the hold lives; its bytes count as
  // written. It must not overlap other memory of the device.
  virtual std::shared_ptr<const void> lend(Address address, std::size_t bytes, std::string label) = 0;

  // Called on a stream's thread when a launch has ended, one call at a time; it must not call the device.
  using ReportSink = std::function<void(const sim::LaunchReport&)>;
  // Reports go to `sink` instead of being kept; nullptr: they are kept again.
  virtual void set_report_sink(ReportSink sink) = 0;
  // Those kept since the last call, in the order the launches ended; of more than kKeptReports the newest.
  virtual std::vector<sim::LaunchReport> take_reports() = 0;

  // For launches that start after the call.
  virtual void set_options(SimOptions options) = 0;
  virtual SimOptions options() const = 0;
};
inline constexpr std::size_t kKeptReports = 256;

// `arch` is the chip it pretends to be: "sm_86". invalid_argument with the known ones for another name.
std::shared_ptr<SimDevice> make_sim_device(std::string_view arch = kDefaultSimArch, SimOptions options = {});

// Its facts, without making one.
DeviceFacts sim_device_facts(std::string_view arch = kDefaultSimArch);

}  // namespace gpuforge::device
