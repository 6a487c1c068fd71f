// gpuforge profile sim: an op's counts in the simulator; and what is known of kernels without any profiler.
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "cli/kernel_ops.h"
#include "cli/lab_session.h"
#include "cli/profile_verbs.h"
#include "cli/report.h"
#include "cli/table.h"
#include "gpuforge/base/child_process.h"
#include "gpuforge/base/demangle.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/context/context.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/lab/profile_counters.h"
#include "gpuforge/ops/registry.h"
#include "gpuforge/sim/report_lines.h"

namespace gpuforge::cli {
namespace {

std::shared_ptr<Context> sim_context(Session& session) {
  const std::string wanted = session.settings.device.value_or("sim");
  GPUFORGE_CHECK(
      wanted == "sim" || wanted.starts_with("sim:"),
      "profile sim: it counts in the simulator, and the device is to be {}; use --device sim or sim:ARCH",
      wanted);
  auto device = device::open_device(wanted, cuda::search_options(session.environment));
  ContextOptions options{.jit = jit_options(session),
                         .allocator = {},
                         .log = session.log,
                         .tuning = tuning_for(session, device->facts())};
  return Context::make(std::move(device), std::move(options));
}

jit::Arch arch_of(const Context& context) {
  jit::Arch arch = jit::native_arch(context.device().facts());
  arch.is_virtual = false;
  return arch;
}

// Empty where no compiler here makes machine code.
std::vector<lab::KernelResources> resources_of(const lab::Op& op, const lab::OnceRequest& request,
                                               Context& context) {
  try {
    return lab::kernel_resources(op, request, context, arch_of(context));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable && error.code() != ErrorCode::unsupported) throw;
    context.log().info("profile: no machine code to tell registers from: {}", error.message());
    return {};
  }
}

std::string number(double value) {
  return value == static_cast<double>(static_cast<std::int64_t>(value))
             ? format_text("{}", static_cast<std::int64_t>(value))
             : format_text("{:.2f}", value);
}

std::string spaced(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string mix_text(const sim::LaunchReport& report, int columns) {
  const double all = static_cast<double>(std::max<std::uint64_t>(report.warp_instructions(), 1));
  std::vector<sim::ClassReport> classes = sim::by_class(report);
  std::stable_sort(classes.begin(), classes.end(),
                   [](const auto& a, const auto& b) { return a.warp_instructions > b.warp_instructions; });
  std::string text;
  for (const sim::ClassReport& each : classes)
    text += format_text("{}{} {:.1f} %", text.empty() ? "instruction mix: " : ", ",
                        spaced(sim::name(each.op_class)),
                        100 * static_cast<double>(each.warp_instructions) / all);
  return wrap(text, columns, 0) + "\n";
}

std::string counters_text(const sim::LaunchReport& report) {
  Table table({"counted", ">in the simulator", "ncu's metric"});
  for (const lab::ProfileCounter& counter : lab::profile_counters())
    table.add_row({spaced(counter.name), number(counter.count(report)), std::string(counter.ncu)});
  return table.text();
}

std::string memory_text(const sim::LaunchReport& report, int columns) {
  const sim::SiteCounters global = report.in("global"), shared = report.in("shared");
  std::string out;
  const std::uint64_t moved = global.sectors * sim::kSectorBytes;
  if (global.requests > 0)
    out += wrap(format_text(
                    "global memory: {:.2f} sectors a request; moved {}, {:.2f} of the least, {}; {:.0f} % of "
                    "it used",
                    report.sectors_per_request(), show_bytes(moved), report.moved_over_least(),
                    show_bytes(report.least_sectors * sim::kSectorBytes),
                    100 * sim::ratio(global.useful_bytes, moved)),
                columns, 0) +
           "\n";
  if (shared.requests > 0)
    out += wrap(format_text("shared memory: {} wavefronts, {} without bank conflicts", shared.wavefronts,
                            shared.ideal_wavefronts),
                columns, 0) +
           "\n";
  return out;
}

Json launch_json(const sim::LaunchReport& report) {
  Json json = Json::parse(report.json());
  Json counters = Json::object();
  for (const lab::ProfileCounter& counter : lab::profile_counters()) {
    Json one = Json::object();
    one.set("value", counter.count(report));
    one.set("ncu", counter.ncu);
    one.set("agrees", lab::name(counter.agreement));
    one.set("must_agree", lab::must_agree(counter, report));
    counters.set(counter.name, std::move(one));
  }
  json.set("counters", std::move(counters));
  return json;
}

Json resources_json(const lab::KernelResources& kernel) {
  Json json = Json::object();
  json.set("kernel", kernel.kernel);
  json.set("arch", kernel.arch.name());
  json.set("registers", kernel.entry.registers);
  json.set("spill_store_bytes", std::uint64_t{kernel.entry.spill_store_bytes});
  json.set("spill_load_bytes", std::uint64_t{kernel.entry.spill_load_bytes});
  json.set("static_shared_bytes", std::uint64_t{kernel.entry.static_shared_bytes});
  return json;
}

std::uint64_t moved_bytes(const std::vector<sim::LaunchReport>& launches) {
  std::uint64_t sectors = 0;
  for (const sim::LaunchReport& launch : launches) sectors += launch.in("global").sectors;
  return sectors * sim::kSectorBytes;
}

std::string value_after(const std::vector<std::string>& arguments, std::string_view option) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == option && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].starts_with(std::string(option) + "=")) return arguments[i].substr(option.size() + 1);
  }
  return {};
}

std::optional<lab::Op> op_named(std::string_view name) {
  for (lab::Op& op : ops::all_ops())
    if (op.name == name) return std::move(op);
  return std::nullopt;
}

lab::Op op_asked_for(const Session& session, const std::string& name) {
  return resolve_ops(session, std::span(&name, 1)).front();
}

OpWords words_of(const Invocation& invocation) {
  return {.op = invocation.positionals[1],
          .variant = invocation.value("variant").value_or(""),
          .dtype = invocation.value("dtype").value_or(""),
          .shape = invocation.value("shape").value_or(""),
          .settings = invocation.values("set")};
}

void set_value(lab::OnceRequest& request, const lab::Op& op, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  GPUFORGE_CHECK(equals != std::string::npos && equals > 0, "{}: --set is NAME=VALUE, found '{}'", op.name,
                 setting);
  const std::string key = setting.substr(0, equals), value = setting.substr(equals + 1);
  const bool is_option = std::any_of(op.options.begin(), op.options.end(),
                                     [&](const auto& option) { return option.name == key; });
  if (is_option) {
    request.problem.options[key] = value;
    return;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  std::string options;
  for (const lab::OptionDescription& option : op.options)
    options += (options.empty() ? "" : ", ") + option.name;
  GPUFORGE_CHECK(
      error == std::errc() && end == value.data() + value.size(),
      "{}: --set {}: it is no option of the op ({}), and a configuration's value is a whole number", op.name,
      setting, options.empty() ? "it has none" : options);
  if (!request.config) request.config.emplace();
  (*request.config)[key] = number;
}

}  // namespace

lab::OnceRequest once_request_for(const lab::Op& op, const OpWords& words) {
  lab::OnceRequest request;
  request.problem = lab::usual_problem(op);
  request.variant = lab::find_variant(op, words.variant).name;
  if (!words.shape.empty()) {
    request.problem.shape = lab::parse_shape(words.shape);
    request.problem.options.clear();  // of the usual problem
  }
  if (!words.dtype.empty()) {
    const auto dtype = parse_dtype(words.dtype);
    GPUFORGE_CHECK(dtype.has_value(), "{}: '{}' is not a dtype", op.name, words.dtype);
    request.problem.dtype = *dtype;
  }
  for (const std::string& setting : words.settings) set_value(request, op, setting);
  request.problem = lab::complete(op, request.problem);
  return request;
}

std::string resources_text(const std::vector<lab::KernelResources>& kernels,
                           const std::vector<sim::LaunchReport>& launches) {
  if (kernels.empty()) return {};
  Table table({"compiled", ">registers", ">spilled", ">shared", "fits"});
  for (const lab::KernelResources& kernel : kernels) {
    const jit::Entry& entry = kernel.entry;
    std::string fits;
    for (const sim::LaunchReport& launch : launches) {
      if (launch.kernel != entry.name) continue;
      const auto threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
      const auto occupancy = jit::occupancy(kernel.arch, entry.registers, launch.shared_bytes, threads);
      if (!occupancy) continue;
      fits = format_text("{} blocks of {} threads, {:.0f} % of {}'s warps, limited by {}", occupancy->blocks,
                         threads, 100 * occupancy->fraction, kernel.arch.name(), occupancy->limited_by);
    }
    table.add_row({kernel.kernel, format_text("{}", entry.registers),
                   show_bytes(entry.spill_store_bytes + entry.spill_load_bytes),
                   show_bytes(entry.static_shared_bytes), fits});
  }
  return table.text();
}

int profile_sim(Session& session, const Invocation& invocation) {
  GPUFORGE_CHECK(invocation.positionals.size() == 2, "profile sim: an OP or a kernel file is missing");
  const lab::Op op = op_asked_for(session, invocation.positionals[1]);
  const lab::OnceRequest request = once_request_for(op, words_of(invocation));
  const std::shared_ptr<Context> context = sim_context(session);
  lab::SimProfile profile;
  std::vector<lab::KernelResources> kernels;
  {
    const Progress progress(session.messages, format_text("running {} in the simulator", op.name));
    profile = lab::profile_on_sim(op, request, context);
    kernels = resources_of(op, request, *context);
  }
  if (const auto kernel = invocation.value("kernel")) {
    std::erase_if(profile.launches, [&](const sim::LaunchReport& launch) {
      return readable_name(launch.kernel).find(*kernel) == std::string::npos;
    });
    GPUFORGE_CHECK(!profile.launches.empty(), "profile sim: {} launches no kernel with '{}' in its name",
                   op.name, *kernel);
  }
  const std::string config = request.config   ? to_string(*request.config)
                             : profile.choice ? to_string(profile.choice->config)
                                              : std::string("-");
  const double formula = profile.cost.bytes_read + profile.cost.bytes_written;
  if (session.json) {
    Json json = document("profile");
    json.set("op", op.name);
    json.set("variant", request.variant);
    json.set("problem", to_string(request.problem));
    json.set("config", config);
    json.set("device", context->device().facts().name);
    json.set("formula_bytes", formula);
    json.set("moved_bytes", moved_bytes(profile.launches));
    Json compiled = Json::array();
    for (const lab::KernelResources& kernel : kernels) compiled.push_back(resources_json(kernel));
    json.set("compiled", std::move(compiled));
    Json launches = Json::array();
    for (const sim::LaunchReport& launch : profile.launches) launches.push_back(launch_json(launch));
    json.set("launches", std::move(launches));
    session.out.document(json);
    return kDone;
  }
  const int columns = session.terminal.columns;
  session.out.write(
      wrap(format_text("{} {}, {}, configuration {}{}", op.name, request.variant, to_string(request.problem),
                       config, profile.choice ? ": " + profile.choice->reason : std::string()),
           columns, 0) +
      "\n");
  for (const sim::LaunchReport& launch : profile.launches) {
    session.out.write("\n");
    if (invocation.has("lines")) {
      session.out.write(launch.text(columns));
    } else {
      session.out.write(wrap(format_text("kernel {}, grid {}, block {}", readable_name(launch.kernel),
                                         sim::text(launch.grid), sim::text(launch.block)),
                             columns, 0) +
                        "\n" + mix_text(launch, columns) + memory_text(launch, columns));
    }
    session.out.write(counters_text(launch));
  }
  if (profile.launches.empty())
    session.out.line("no kernel was launched: there is nothing to do for this shape");
  session.out.write("\n");
  if (formula > 0 && !profile.launches.empty())
    session.out.line(format_text("all launches moved {}; the formula needs {}: {:.2f} of it",
                                 show_bytes(moved_bytes(profile.launches)),
                                 show_bytes(static_cast<std::uint64_t>(formula)),
                                 static_cast<double>(moved_bytes(profile.launches)) / formula));
  session.out.write(resources_text(kernels, profile.launches));
  return kDone;
}

int profile_once(Session& session, const Invocation& invocation) {
  GPUFORGE_CHECK(invocation.positionals.size() == 2, "profile once: OP is missing");
  const lab::Op op = op_asked_for(session, invocation.positionals[1]);
  const lab::OnceRequest request = once_request_for(op, words_of(invocation));
  std::string fallback;
  const cuda::SearchOptions search = cuda::search_options(session.environment);
  const auto device = session.settings.device ? device::open_device(*session.settings.device, search)
                                              : device::open_default_kernel_device(search, &fallback);
  if (!fallback.empty()) session.log->warning("{}", fallback);
  ContextOptions options{.jit = jit_options(session),
                         .allocator = {},
                         .log = session.log,
                         .tuning = tuning_for(session, device->facts())};
  lab::run_once(op, request, Context::make(device, std::move(options)));
  if (session.json) {
    Json json = document("profile");
    json.set("op", op.name);
    json.set("variant", request.variant);
    json.set("problem", to_string(request.problem));
    json.set("device", device->facts().name);
    session.out.document(json);
  } else {
    session.out.line(format_text("{} {}, {}, ran once on {}", op.name, request.variant,
                                 to_string(request.problem), device->facts().name));
  }
  return kDone;
}

void show_without_profiler(Session& session, const std::vector<std::string>& arguments) {
  constexpr std::chrono::seconds kCompileLimit{120};
  session.settings.device.reset();  // the arguments' own, which is a GPU
  bool any = false;
  for (const std::string& argument : arguments) {
    if (const auto op = op_named(argument)) {
      const lab::OnceRequest request = once_request_for(*op, {.op = op->name,
                                                              .variant = value_after(arguments, "--variant"),
                                                              .dtype = value_after(arguments, "--dtype"),
                                                              .shape = value_after(arguments, "--shape"),
                                                              .settings = {}});
      const std::shared_ptr<Context> context = sim_context(session);
      session.out.line(format_text("known without a profiler, {} {}:", op->name, to_string(request.problem)));
      session.out.write(resources_text(resources_of(*op, request, *context), {}));
      session.out.line(format_text(
          "the simulator's counters: gpuforge profile sim {} --variant {} --dtype {} --shape {}", op->name,
          request.variant, name(request.problem.dtype), lab::shape_text(request.problem.shape)));
      any = true;
    } else if (argument.ends_with(".cu") && std::filesystem::exists(argument)) {
      const ChildResult compiled = run_child(executable_path(), {"compile", argument}, kCompileLimit);
      session.out.line(format_text("known without a profiler, {}:", argument));
      session.out.write(compiled.good() ? compiled.out : compiled.err);
      session.out.line(
          format_text("the simulator's counters: gpuforge run {} .. --device sim --report", argument));
      any = true;
    }
  }
  if (!any) session.out.line("the simulator counts without a GPU: gpuforge profile sim OP");
  session.out.flush();
}

}  // namespace gpuforge::cli
