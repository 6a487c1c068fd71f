#include "cli/run_kernel.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "cli/element_source.h"
#include "cli/kernel_file.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/ptx/parser.h"
#include "gpuforge/sim/chip.h"

namespace gpuforge::cli {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 20;

// printf of a kernel, as it comes. A reader that has gone is told by the next flush.
std::function<void(std::string_view)> print_to(Output& out) {
  return [&out](std::string_view text) {
    try {
      out.write(text);
      out.flush();
    } catch (...) {
    }
  };
}

// The simulator to take where no chip was named. PTX that the usual one does not run gets the chip that its
// .target names.
std::string sim_name_for(const RunRequest& request, const std::string& source_text) {
  if (!is_ptx(request.file)) return "sim";
  const ptx::Module module = ptx::parse(source_text, request.file.string());
  const sim::Chip& usual = *sim::find_chip(device::kDefaultSimArch)->chip;
  for (const std::string_view target : module.targets) {
    if (sim::find_chip(target) && !sim::runs_target(usual, target)) return format_text("sim:{}", target);
  }
  return "sim";
}

// The one that is asked for, or the lab's rule: cuda:0, else the simulator.
std::shared_ptr<device::Device> open_run_device(Session& session, const RunRequest& run,
                                                const std::string& source_text) {
  const SimRequest& request = run.sim;
  const cuda::SearchOptions search = cuda::search_options(session.environment);
  const Progress progress(session.messages, "opening the device");
  device::SimOptions sim_options = request.options;
  if (!session.json) sim_options.print = print_to(session.out);  // a document has it inside
  if (session.settings.device) {
    const std::string& wanted = *session.settings.device;
    auto device =
        device::open_device(wanted == "sim" ? sim_name_for(run, source_text) : wanted, search, sim_options);
    if (device->facts().kind == device::DeviceKind::cpu) {
      throw Error(ErrorCode::unsupported,
                  "run: the device cpu runs no kernels, only host code; use --device cuda:0, or sim where "
                  "there is no GPU");
    }
    check_is_sim(request, device->facts());
    return device;
  }
  try {
    auto device = device::open_device("cuda:0", search);
    check_is_sim(request, device->facts());
    return device;
  } catch (const Error& no_gpu) {
    if (no_gpu.code() != ErrorCode::unavailable) throw;
    session.log->warning("Falling back to CPU simulation backend: {}; or pass --device sim to choose it",
                         no_gpu.message());
    return device::open_device(sim_name_for(run, source_text), search, sim_options);
  }
}

std::vector<jit::Argument> argument_list(const RunRequest& request,
                                         const std::vector<device::Address>& addresses) {
  std::vector<jit::Argument> list;
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    const LaunchArgument& argument = request.arguments[i];
    if (argument.is_array()) {
      list.push_back({&addresses[i], sizeof(device::Address), "pointer"});
    } else {
      list.push_back({argument.scalar.data(), argument.scalar.size(), argument.type});
    }
  }
  return list;
}

void check_arguments(const RunRequest& request, const jit::Entry& entry, std::vector<std::string>& warnings) {
  const std::vector<device::Address> nowhere(request.arguments.size());
  jit::check_arguments(entry, argument_list(request, nowhere));
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    const LaunchArgument& argument = request.arguments[i];
    if (!argument.is_array()) continue;
    if (const auto problem = pointee_mismatch(entry.parameters[i], *argument.dtype)) {
      warnings.push_back(format_text("{} ({})", *problem, argument.label));
    }
  }
}

// Without a device: PTX is enough to know the kernels and their parameters, and takes any chip's
// instructions.
void check_without_device(const RunRequest& request, const jit::KernelSource& source, jit::Jit& jit) {
  jit::Compiled compiled;
  compiled.source_name = request.file.string();
  if (is_ptx(request.file)) {
    compiled.entries = jit::entries_from_ptx(source.text, compiled.source_name);
  } else {
    compiled.entries = jit.compile(source, jit::Arch::parse("compute_90"))->entries;
  }
  std::vector<std::string> ignored;
  check_arguments(request, choose_entry(compiled, request.kernel), ignored);
}

void check_memory(const RunRequest& request, const device::Device& device) {
  std::size_t wanted = 0;
  for (const LaunchArgument& argument : request.arguments) {
    if (!argument.is_array()) continue;
    const bool twice = argument.role == ArgumentRole::inout && request.repeat > 1;  // the start is kept
    wanted += argument.bytes() * (twice ? 2 : 1);
  }
  const device::MemoryInfo memory = device.memory_info();
  if (wanted <= memory.free_bytes) return;
  throw Error(
      ErrorCode::out_of_memory,
      format_text(
          "run: the arrays need {}, but {} has {} free of {}; make them smaller, or free memory that other "
          "programs hold",
          show_bytes(wanted), device.facts().name, show_bytes(memory.free_bytes),
          show_bytes(memory.total_bytes)));
}

Array make_array(const RunRequest& request, std::size_t index, const std::shared_ptr<Context>& context,
                 device::Stream& stream) {
  const LaunchArgument& argument = request.arguments[index];
  Array array = empty(context, *argument.shape, *argument.dtype, stream);
  const std::size_t bytes = argument.bytes();
  if (bytes == 0) return array;
  if (argument.role == ArgumentRole::out) {
    const Poison mark = poison(*argument.dtype);
    if (context->device().facts().kind == device::DeviceKind::sim) {
      // Past the device, so that to the simulator these bytes are still never written.
      auto* const to = reinterpret_cast<std::byte*>(array.address());
      for (std::size_t at = 0; at < bytes; at += mark.pattern_bytes) {
        std::memcpy(to + at, &mark.pattern, mark.pattern_bytes);
      }
      return array;
    }
    stream.fill(array.address(), mark.pattern, mark.pattern_bytes, bytes / mark.pattern_bytes);
    return array;
  }
  const std::size_t width = element_bytes(*argument.dtype);
  std::vector<std::byte> piece(std::min(bytes, kPieceBytes));
  for (std::size_t at = 0; at < bytes; at += piece.size()) {
    const std::span<std::byte> part(piece.data(), std::min(piece.size(), bytes - at));
    // Arguments differ in their numbers, so that two random inputs are not the same.
    fill_elements(argument, request.seed + index, static_cast<std::int64_t>(at / width), part);
    stream.copy_to_device(array.address() + at, part.data(), part.size());
    stream.synchronize();  // the piece is used again
  }
  return array;
}

// Findings of the simulator are a result, not a failure of the run.
void wait_for_launch(device::Stream& stream, const std::optional<sim::LaunchReport>& report) {
  try {
    stream.synchronize();
  } catch (const Error&) {
    if (!report || report->clean()) throw;
  }
}

LaunchTimes launch(const RunRequest& request, const jit::Kernel& kernel, std::vector<Array>& arrays,
                   const std::vector<jit::Argument>& arguments, device::Device& device,
                   device::Stream& stream, std::optional<sim::LaunchReport>& report) {
  std::vector<std::pair<Array*, Array>> starts;  // so that every launch sees the same memory
  if (request.repeat > 1) {
    std::size_t next = 0;
    for (const LaunchArgument& argument : request.arguments) {
      if (!argument.is_array()) continue;
      Array& array = arrays[next++];
      if (argument.role == ArgumentRole::inout && array.size() > 0)
        starts.emplace_back(&array, array.copy(stream));
    }
  }
  stream.synchronize();
  auto* const sim_device = dynamic_cast<device::SimDevice*>(&device);
  if (sim_device != nullptr) {
    sim_device->set_report_sink([&report](const sim::LaunchReport& ended) {
      if (!report || report->clean()) report = ended;
    });
  }
  LaunchTimes times;
  const auto before = device.make_event();
  const auto after = device.make_event();
  for (int i = 0; i < request.repeat; ++i) {
    if (i > 0) {
      for (auto& [array, start] : starts) stream.copy(array->address(), start.address(), array->bytes());
    }
    stream.record(*before);
    kernel.launch(request.config, arguments, stream);
    stream.record(*after);
    wait_for_launch(stream, report);
    times.milliseconds.push_back(after->elapsed_ms_since(*before));
  }
  if (sim_device != nullptr) sim_device->set_report_sink(nullptr);
  return times;
}

// What the outputs say about the kernel.
void scan_outputs(const RunRequest& request, RunResult& result) {
  std::vector<std::byte> piece;
  for (const RunOutput& output : result.outputs) {
    const LaunchArgument& argument = request.arguments[output.argument];
    OutputScan scan(*argument.dtype);
    const std::size_t bytes = argument.bytes();
    piece.resize(std::min(bytes, kPieceBytes));
    for (std::size_t at = 0; at < bytes; at += piece.size()) {
      const std::span<std::byte> part(piece.data(), std::min(piece.size(), bytes - at));
      result.stream->copy_to_host(part.data(), output.array.address() + at, part.size());
      result.stream->synchronize();
      scan.add(part);
    }
    if (argument.role == ArgumentRole::out && scan.unwritten() > 0) {
      result.warnings.push_back(
          scan.unwritten() == scan.elements()
              ? format_text("{} was never written by the kernel", argument.label)
              : format_text("{} of {} elements of {} were never written by the kernel, the first at index {}",
                            scan.unwritten(), scan.elements(), argument.label, scan.first_unwritten()));
    }
    if (scan.all_zero()) result.warnings.push_back(format_text("{} is all zero", argument.label));
  }
}

}  // namespace

float LaunchTimes::lowest() const {
  return *std::min_element(milliseconds.begin(), milliseconds.end());
}
float LaunchTimes::highest() const {
  return *std::max_element(milliseconds.begin(), milliseconds.end());
}
float LaunchTimes::median() const {
  std::vector<float> sorted = milliseconds;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

RunResult run_kernel(Session& session, const Invocation& invocation, const RunRequest& request) {
  jit::KernelSource source;
  if (is_ptx(request.file)) {
    source.text = read_file(request.file);
  } else {
    source = source_of(invocation, request.file);
  }
  RunResult result;
  std::shared_ptr<device::Device> device;
  try {
    device = open_run_device(session, request, source.text);
  } catch (const Error& no_device) {
    if (no_device.code() != ErrorCode::unavailable) throw;
    try {
      jit::Jit jit(jit_options(session), session.log);
      check_without_device(request, source, jit);
    } catch (const Error& error) {
      // A compiler that is missing or too old for the check is no news beside a missing device.
      if (error.code() != ErrorCode::unavailable && error.code() != ErrorCode::unsupported) throw;
    }
    throw;
  }
  ContextOptions options;
  options.jit = jit_options(session);
  options.log = session.log;
  options.allocator = allocator_for(session.environment, device);
  result.context = Context::make(device, std::move(options));
  {
    const Progress progress(session.messages, format_text("compiling {}", request.file.filename().string()));
    result.kernel = is_ptx(request.file) ? result.context->jit().kernel_from_ptx(
                                               source.text, request.file.string(), request.kernel, *device)
                                         : result.context->jit().kernel(source, request.kernel, *device);
  }
  check_arguments(request, result.kernel->entry(), result.warnings);
  device::check_launch(request.config, result.kernel->function().facts(), device->facts().launch,
                       device->facts().name);
  check_memory(request, *device);

  result.stream = device->make_stream();
  std::vector<Array> arrays;
  std::vector<device::Address> addresses(request.arguments.size());
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    if (!request.arguments[i].is_array()) continue;
    const Progress progress(session.messages, format_text("making {}", request.arguments[i].label));
    arrays.push_back(make_array(request, i, result.context, *result.stream));
    addresses[i] = arrays.back().address();
    if (request.arguments[i].role != ArgumentRole::in) result.outputs.push_back({i, arrays.back()});
  }
  {
    const Progress progress(session.messages, format_text("running {}", result.kernel->entry().name));
    result.times = launch(request, *result.kernel, arrays, argument_list(request, addresses), *device,
                          *result.stream, result.report);
  }
  const Progress progress(session.messages, "reading the outputs");
  scan_outputs(request, result);
  return result;
}

}  // namespace gpuforge::cli
