#include "cli/kernel_ops.h"

#include <algorithm>
#include <mutex>

#include "gpuforge/base/suggest.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/lab/kernel_file.h"
#include "gpuforge/ops/registry.h"

namespace gpuforge::cli {
namespace {

// Reference kernels have a device of their own, of the kind that is asked for, so that what they do is not
// taken for the kernel's doing. Opened by the first that needs it.
std::function<std::shared_ptr<Context>()> reference_context(const Session& session) {
  struct Opened {
    std::once_flag once;
    std::shared_ptr<Context> context;
  };
  const auto opened = std::make_shared<Opened>();
  return [opened, &session] {
    std::call_once(opened->once, [&] {
      const cuda::SearchOptions search = cuda::search_options(session.environment);
      std::string fallback;  // told when the verb opened its own
      ContextOptions options;
      options.jit = jit_options(session);
      options.log = session.log;
      auto device = session.settings.device ? device::open_device(*session.settings.device, search)
                                            : device::open_default_kernel_device(search, &fallback);
      options.allocator = allocator_for(session.environment, device);
      opened->context = Context::make(std::move(device), std::move(options));
    });
    return opened->context;
  };
}

// Nobody has an op of that name: perhaps a file was meant.
lab::Op find_named(const std::string& name) {
  try {
    return ops::find_op(name);
  } catch (const Error& error) {
    std::error_code failed;
    if (error.code() != ErrorCode::invalid_argument || !std::filesystem::exists(name + ".cu", failed)) throw;
    throw Error(ErrorCode::invalid_argument,
                format_text("{}; did you mean the file {}.cu?", error.message(), name));
  }
}

}  // namespace

std::vector<lab::Op> resolve_ops(const Session& session, std::span<const std::string> arguments) {
  if (arguments.empty()) return ops::all_ops();
  const lab::KernelFileOptions options{.find_op = [](std::string_view name) { return ops::find_op(name); },
                                       .reference_context = reference_context(session),
                                       .program_path = session.environment.path};
  std::vector<lab::Op> list;
  for (const std::string& argument : arguments) {
    lab::Op op =
        lab::names_kernel_file(argument) ? lab::read_kernel_file(argument, options) : find_named(argument);
    const auto same =
        std::find_if(list.begin(), list.end(), [&](const lab::Op& other) { return other.name == op.name; });
    if (same == list.end()) {
      list.push_back(std::move(op));
      continue;
    }
    GPUFORGE_CHECK(same->file == op.file, "{} and {} would both be called {}: rename one of them",
                   same->file.empty() ? "the op " + same->name : same->file.string(), argument, op.name);
  }
  return list;
}

}  // namespace gpuforge::cli
