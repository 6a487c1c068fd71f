#include "cli/run_request.h"

#include <algorithm>

#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::cli {
namespace {

constexpr std::uint64_t kDefaultSeed = 42;

std::size_t output_called(const RunRequest& request, const std::string& label) {
  std::string list;
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    const LaunchArgument& argument = request.arguments[i];
    const bool is_output = argument.role == ArgumentRole::out || argument.role == ArgumentRole::inout;
    if (!is_output) continue;
    if (argument.label == label) return i;
    list += (list.empty() ? "" : ", ") + argument.label;
  }
  throw Error(ErrorCode::invalid_argument,
              format_text("run: --save names '{}', but {}", label,
                          list.empty() ? std::string("there is no out or inout argument")
                                       : "the outputs are " + list));
}

void read_saves(const Invocation& invocation, RunRequest& request) {
  request.saves.resize(request.arguments.size());
  if (const auto folder = invocation.value("out-dir")) {
    for (std::size_t i = 0; i < request.arguments.size(); ++i) {
      const LaunchArgument& argument = request.arguments[i];
      if (argument.role != ArgumentRole::out && argument.role != ArgumentRole::inout) continue;
      request.saves[i] = std::filesystem::path(*folder) / (argument.label + ".npy");
    }
  }
  for (const std::string& text : invocation.values("save")) {
    const std::size_t equals = text.find('=');
    GPUFORGE_CHECK(equals != std::string::npos && equals > 0 && equals + 1 < text.size(),
                   "run: --save is NAME=FILE.npy or NAME=FILE.bin, found '{}'", text);
    request.saves[output_called(request, text.substr(0, equals))] = text.substr(equals + 1);
  }
}

void read_arguments(const Invocation& invocation, RunRequest& request) {
  for (const std::string& text : invocation.values("arg")) {
    LaunchArgument argument = parse_launch_argument(text, request.arguments.size());
    const bool twice =
        std::any_of(request.arguments.begin(), request.arguments.end(),
                    [&](const LaunchArgument& other) { return other.label == argument.label; });
    GPUFORGE_CHECK(!twice, "run: two arguments are called '{}'", argument.label);
    const Initial::Kind kind = argument.initial.kind;
    request.uses_seed = request.uses_seed || kind == Initial::Kind::random || kind == Initial::Kind::normal;
    load_file(argument);
    request.arguments.push_back(std::move(argument));
  }
}

}  // namespace

device::Dim3 parse_dim3(std::string_view who, std::string_view text) {
  device::Dim3 dim;
  std::uint32_t* const extents[] = {&dim.x, &dim.y, &dim.z};
  std::size_t at = 0;
  for (std::size_t axis = 0;; ++axis) {
    GPUFORGE_CHECK(axis < 3, "{} has at most three extents, X,Y,Z, but '{}' was given", who, text);
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto extent = parse_count(text.substr(at, end - at));
    GPUFORGE_CHECK(extent && *extent >= 1 && *extent <= 4294967295,
                   "{} is X[,Y[,Z]], whole numbers from 1, but '{}' was given", who, text);
    *extents[axis] = static_cast<std::uint32_t>(*extent);
    if (end == text.size()) return dim;
    at = end + 1;
  }
}

RunRequest read_run_request(const Invocation& invocation) {
  RunRequest request;
  request.file = invocation.positionals.front();
  request.kernel = invocation.value("kernel").value_or("");
  for (const char* name : {"grid", "block"}) {
    GPUFORGE_CHECK(invocation.has(name), "run: --{} is missing: X[,Y[,Z]], how many {}", name,
                   std::string_view(name) == "grid" ? "blocks" : "threads in a block");
  }
  request.config.grid = parse_dim3("run: --grid", *invocation.value("grid"));
  request.config.block = parse_dim3("run: --block", *invocation.value("block"));
  if (const auto cluster = invocation.value("cluster"))
    request.config.cluster = parse_dim3("run: --cluster", *cluster);
  if (const auto shared = invocation.value("shared")) {
    const auto bytes = parse_byte_size(*shared);
    GPUFORGE_CHECK(bytes, "run: --shared is a number of bytes such as 4096 or 64KiB, but '{}' was given",
                   *shared);
    request.config.dynamic_shared_bytes = *bytes;
  }
  request.config.cooperative = invocation.has("cooperative");
  request.repeat =
      static_cast<int>(require_count("run: --repeat", invocation.value("repeat").value_or("1"), 1, 1000000));
  request.seed = kDefaultSeed;
  if (const auto seed = invocation.value("seed")) {
    request.seed = static_cast<std::uint64_t>(require_count("run: --seed", *seed, 0, 9223372036854775807));
  }
  request.sim = read_sim_request(invocation);
  read_arguments(invocation, request);
  read_saves(invocation, request);
  return request;
}

}  // namespace gpuforge::cli
