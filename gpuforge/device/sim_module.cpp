#include "gpuforge/device/sim_module.h"

#include <algorithm>
#include <utility>

#include "gpuforge/base/demangle.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/cuda_module.h"
#include "gpuforge/device/work_error.h"

namespace gpuforge::device {
namespace {

std::shared_ptr<const sim::Program> load(const std::shared_ptr<SimMemory>& memory, const sim::Chip& chip,
                                         std::span<const std::byte> image, std::string_view name,
                                         const std::string& device_name) {
  if (check_module_image(image, name, device_name) == ImageKind::binary) {
    throw Error(ErrorCode::unsupported,
                format_text("{}: module {}: it is machine code, and the simulator runs PTX; compile to PTX",
                            device_name, name));
  }
  std::string text(reinterpret_cast<const char*>(image.data()), image.size());
  std::shared_ptr<const sim::Program> program;
  try {
    program = sim::load_program(memory->space(), std::move(text), std::string(name));
  } catch (const Error& error) {
    throw Error(error.code(), format_text("{}: {}", device_name, error.message()), error.detail());
  }
  const std::string_view target = sim::target_chip(*program);
  if (!target.empty() && !sim::runs_target(chip, target)) {
    const bool playable = sim::find_chip(target).has_value();
    throw Error(ErrorCode::unsupported,
                format_text("{}: module {}: its .target is {}, which this chip, sm_{}, does not run{}",
                            device_name, name, target, chip.number(),
                            playable ? format_text("; use the device sim:{}", target) : std::string()));
  }
  return program;
}

sim::Index3 index_of(const Dim3& dim) {
  return {dim.x, dim.y, dim.z};
}

// "race at tile.cu:12: <sentence>, and 2 more findings".
std::string summary(const sim::LaunchReport& report) {
  const sim::Finding* first = nullptr;
  std::size_t findings = 0;
  for (const sim::Finding& finding : report.findings) {
    if (finding.suppressed) continue;
    if (first == nullptr) first = &finding;
    ++findings;
  }
  std::string kind(name(first->kind));
  std::replace(kind.begin(), kind.end(), '_', ' ');
  std::string text = kind;
  if (!first->place.file.empty()) {
    const std::string& file = first->place.file;
    text += format_text(" at {}:{}", std::string_view(file).substr(file.rfind('/') + 1), first->place.line);
  }
  text += ": " + first->message;
  if (findings > 1) text += format_text("; and {} more finding{}", findings - 1, findings == 2 ? "" : "s");
  return text;
}

}  // namespace

void SimState::set_sink(SimDevice::ReportSink sink) {
  const std::lock_guard lock(mutex_);
  sink_ = std::move(sink);
}

std::vector<sim::LaunchReport> SimState::take_reports() {
  const std::lock_guard lock(mutex_);
  std::vector<sim::LaunchReport> taken(std::make_move_iterator(reports_.begin()),
                                       std::make_move_iterator(reports_.end()));
  reports_.clear();
  return taken;
}

void SimState::deliver(const sim::LaunchReport& report) {
  const std::lock_guard lock(mutex_);
  if (sink_ != nullptr) {
    sink_(report);
    return;
  }
  reports_.push_back(report);
  if (reports_.size() > kKeptReports) reports_.pop_front();
}

void SimState::set_options(SimOptions options) {
  const std::lock_guard lock(mutex_);
  options_ = std::move(options);
}

SimOptions SimState::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

SimModule::SimModule(std::shared_ptr<Device> device, const sim::Chip& chip, std::shared_ptr<SimMemory> memory,
                     std::span<const std::byte> image, std::string_view name,
                     std::span<const KernelRegisters> registers)
    : device_(std::move(device)),
      chip_(chip),
      name_(name),
      program_(load(memory, chip, image, name, device_->facts().name)) {
  for (const KernelRegisters& kernel : registers) {
    GPUFORGE_CHECK(
        kernel.per_thread >= 0 && kernel.per_thread <= sim::kMaxRegistersPerThread,
        "{}: module {}: kernel {} cannot have {} registers per thread: between 1 and {}, or 0 when "
        "they are not known",
        device_->facts().name, name, kernel.entry, kernel.per_thread, sim::kMaxRegistersPerThread);
    registers_.emplace(kernel.entry, kernel.per_thread);
  }
}

int SimModule::registers_of(std::string_view entry) const {
  const auto found = registers_.find(entry);
  return found == registers_.end() ? 0 : found->second;
}

// Decoded here, so that what the simulator does not know is an Error now and not at a synchronize.
std::shared_ptr<Function> SimModule::function(std::string_view entry, std::optional<std::size_t>) {
  const std::string& device_name = device_->facts().name;
  std::string known;
  for (const std::string& candidate : sim::entries(*program_)) {
    known += (known.empty() ? "" : ", ") + candidate;
    if (candidate != entry) continue;
    try {
      return std::make_shared<SimFunction>(shared_from_this(), sim::entry_facts(*program_, entry));
    } catch (const Error& error) {
      throw Error(error.code(), format_text("{}: {}", device_name, error.message()), error.detail());
    }
  }
  throw Error(ErrorCode::invalid_argument,
              format_text("{}: module {} has no kernel {}; it has {}", device_name, name_, entry,
                          known.empty() ? "none" : known));
}

SimFunction::SimFunction(std::shared_ptr<SimModule> module, const sim::EntryFacts& entry)
    : module_(std::move(module)) {
  facts_.name = entry.name;
  facts_.static_shared_bytes = entry.static_shared_bytes;
  facts_.local_bytes = entry.local_bytes;
  facts_.registers = module_->registers_of(entry.name);
  const int most = sim::threads_with_registers(module_->chip(), facts_.registers);
  facts_.max_threads_per_block =
      entry.max_threads_per_block > 0 ? std::min(entry.max_threads_per_block, most) : most;
  facts_.parameters_known = true;
  for (const sim::EntryFacts::Parameter& parameter : entry.parameters) {
    facts_.parameters.push_back({parameter.offset, parameter.bytes});
  }
  required_block_ = {entry.required_block.x, entry.required_block.y, entry.required_block.z};
  required_cluster_ = {entry.required_cluster.x, entry.required_cluster.y, entry.required_cluster.z};
}

int SimFunction::max_active_blocks(int threads_per_block, std::size_t dynamic_shared_bytes) const {
  const DeviceFacts& device = module_->device().facts();
  GPUFORGE_CHECK(threads_per_block >= 1 &&
                     static_cast<std::uint32_t>(threads_per_block) <= device.launch.max_threads_per_block,
                 "{}: kernel {}: {} threads per block asked about, between 1 and {} are possible",
                 device.name, facts_.name, threads_per_block, device.launch.max_threads_per_block);
  const std::size_t most = device.launch.max_shared_per_block;
  if (facts_.static_shared_bytes > most || dynamic_shared_bytes > most - facts_.static_shared_bytes) return 0;
  return sim::resident_blocks(module_->chip(), threads_per_block,
                              facts_.static_shared_bytes + dynamic_shared_bytes, facts_.registers);
}

Dim3 SimFunction::cluster_of(const LaunchConfig& config) const {
  return config.cluster == Dim3{} && required_cluster_.x != 0 ? required_cluster_ : config.cluster;
}

int SimFunction::max_active_clusters(const LaunchConfig& config) const {
  const DeviceFacts& device = module_->device().facts();
  if (!device.cluster_launch) return 0;
  LaunchConfig one = config;
  one.cluster = one.grid = cluster_of(config);
  check_launch(one, facts_, device.launch, device.name);
  const int blocks = max_active_blocks(static_cast<int>(config.block.count()), config.dynamic_shared_bytes);
  return blocks * device.multiprocessors / static_cast<int>(one.cluster.count());
}

void SimFunction::check(const LaunchConfig& asked, std::span<void* const> parameters) const {
  const DeviceFacts& device = module_->device().facts();
  LaunchConfig config = asked;
  config.cluster = cluster_of(asked);
  check_launch(config, facts_, device.launch, device.name);
  GPUFORGE_CHECK(required_cluster_.x == 0 || config.cluster == required_cluster_,
                 "{}: kernel {}: cluster {} was asked for, and the kernel was compiled for {} alone",
                 device.name, facts_.name, to_string(config.cluster), to_string(required_cluster_));
  if (config.cooperative && config.cluster.count() > 1) {
    throw Error(
        ErrorCode::unsupported,
        format_text("{}: kernel {}: a cooperative launch in clusters was asked for; the simulator runs one "
                    "cluster after another, and they could not wait for each other",
                    device.name, facts_.name));
  }
  GPUFORGE_CHECK(facts_.static_shared_bytes <= sim::kMaxStaticSharedBytes,
                 "{}: kernel {}: {} bytes of static shared memory are more than the {} there can be; declare "
                 "it extern and give its size at the launch",
                 device.name, facts_.name, facts_.static_shared_bytes, sim::kMaxStaticSharedBytes);
  GPUFORGE_CHECK(required_block_.x == 0 || config.block == required_block_,
                 "{}: kernel {}: block {} was asked for, and the kernel was compiled for {} alone",
                 device.name, facts_.name, to_string(config.block), to_string(required_block_));
  if (config.cooperative) {
    const int per_multiprocessor =
        max_active_blocks(static_cast<int>(config.block.count()), config.dynamic_shared_bytes);
    const std::uint64_t most =
        static_cast<std::uint64_t>(per_multiprocessor) * static_cast<std::uint64_t>(device.multiprocessors);
    GPUFORGE_CHECK(config.grid.count() <= most,
                   "{}: kernel {}: a cooperative grid {} has {} blocks, but only {} fit at once", device.name,
                   facts_.name, to_string(config.grid), config.grid.count(), most);
  }
  GPUFORGE_CHECK(parameters.size() == facts_.parameters.size(),
                 "{}: kernel {} has {} parameters, {} arguments were given", device.name, facts_.name,
                 facts_.parameters.size(), parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    GPUFORGE_CHECK(parameters[i] != nullptr || facts_.parameters[i].bytes == 0,
                   "{}: kernel {}: argument {} is a null pointer; it must point at the argument's bytes",
                   device.name, facts_.name, i);
  }
}

SimLaunch::SimLaunch(std::shared_ptr<SimState> state, const SimFunction& function, const LaunchConfig& config,
                     std::span<void* const> parameters)
    : state_(std::move(state)),
      program_(function.module().program()),
      device_name_(function.module().device().facts().name),
      entry_(function.facts().name),
      geometry_{.grid = index_of(config.grid),
                .block = index_of(config.block),
                .dynamic_shared_bytes = config.dynamic_shared_bytes,
                .cluster = index_of(function.cluster_of(config)),
                .multiprocessors = static_cast<std::uint32_t>(function.module().chip().multiprocessors),
                .cooperative = config.cooperative} {
  const std::vector<ParameterFacts>& facts = function.facts().parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto* const bytes = static_cast<const std::byte*>(parameters[i]);
    arguments_.emplace_back(bytes, bytes + facts[i].bytes);
  }
}

void SimLaunch::operator()() const {
  std::vector<const void*> pointers;
  for (const std::vector<std::byte>& argument : arguments_) pointers.push_back(argument.data());
  const auto fail = [&](ErrorCode code, std::string_view message, std::string detail) {
    throw OwnFailure{Error(code,
                           format_text("{}: kernel {}: {}", device_name_, readable_name(entry_), message),
                           std::move(detail))};
  };
  sim::LaunchReport report;
  try {
    const SimOptions options = state_->options();
    const SimMemory::Launch running(state_->memory());
    report = sim::launch(*program_, entry_, geometry_, pointers, options);
  } catch (const Error& error) {
    fail(error.code(), error.message(), error.detail());
  }
  state_->deliver(report);
  if (!report.clean()) fail(ErrorCode::invalid_argument, summary(report), report.text());
}

}  // namespace gpuforge::device
