#include "cli/check_request.h"

#include <random>
#include <span>

#include "gpuforge/base/quantity.h"
#include "gpuforge/base/suggest.h"

namespace gpuforge::cli {
namespace {

// Every value of the option, cut at commas.
std::vector<std::string> listed(const Invocation& invocation, std::string_view option) {
  std::vector<std::string> list;
  for (const std::string& text : invocation.values(option)) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      list.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  return list;
}

// Values of an enumeration by their names.
template <typename Value>
std::vector<Value> named(const Invocation& invocation, std::string_view option, std::span<const Value> all) {
  std::vector<std::string> known;
  std::string names;
  for (const Value value : all) {
    known.emplace_back(name(value));
    names += (names.empty() ? "" : ", ") + known.back();
  }
  std::vector<Value> list;
  for (const std::string& text : listed(invocation, option)) {
    const auto found = std::find(known.begin(), known.end(), text);
    GPUFORGE_CHECK(found != known.end(), "check: --{} is one of {}, but '{}' was given{}", option, names,
                   text, did_you_mean(text, known));
    list.push_back(all[static_cast<std::size_t>(found - known.begin())]);
  }
  return list;
}

constexpr lab::Contents kContents[] = {lab::Contents::normal, lab::Contents::zeros, lab::Contents::constant,
                                       lab::Contents::huge,   lab::Contents::tiny,  lab::Contents::infinities,
                                       lab::Contents::nans};
constexpr lab::Placement kPlacements[] = {lab::Placement::contiguous, lab::Placement::transposed,
                                          lab::Placement::spread, lab::Placement::shifted};

}  // namespace

std::vector<DType> read_dtypes(const Invocation& invocation, std::string_view verb) {
  std::vector<DType> list;
  for (const std::string& text : listed(invocation, "dtype")) {
    const auto dtype = parse_dtype(text);
    GPUFORGE_CHECK(dtype.has_value(), "{}: --dtype is a type such as f16, bf16 or f32, but '{}' was given",
                   verb, text);
    list.push_back(*dtype);
  }
  return list;
}

std::vector<Shape> read_shapes(const Invocation& invocation) {
  std::vector<Shape> list;
  for (const std::string& text : invocation.values("shape")) {
    GPUFORGE_CHECK(!text.empty(), "a shape is written like 4096x1024; found ''");
    list.push_back(lab::parse_shape(text));
  }
  return list;
}

lab::Options read_settings(const Invocation& invocation, std::string_view verb) {
  lab::Options options;
  for (const std::string& text : invocation.values("set")) {
    const std::size_t at = text.find('=');
    GPUFORGE_CHECK(at != std::string::npos && at > 0,
                   "{}: --set takes NAME=VALUE such as dim=0, but '{}' was given", verb, text);
    options[text.substr(0, at)] = text.substr(at + 1);
  }
  return options;
}

std::uint64_t read_seed(const Invocation& invocation, std::string_view verb) {
  const auto text = invocation.value("seed");
  if (!text) return 1;
  if (*text == "random") return std::random_device()();
  return static_cast<std::uint64_t>(
      require_count(format_text("{}: --seed", verb), *text, 0, 9223372036854775807));
}

CheckArguments read_check_arguments(const Invocation& invocation) {
  CheckArguments arguments;
  arguments.ops = invocation.positionals;
  const bool all = invocation.has("all");
  GPUFORGE_CHECK(all || !arguments.ops.empty(),
                 "check: name one or more ops, or pass --all; `gpuforge ops` lists them");
  GPUFORGE_CHECK(!all || arguments.ops.empty(), "check: --all was given, and {} too; take one of them",
                 arguments.ops.front());
  lab::CheckRequest& request = arguments.request;
  request.variants = listed(invocation, "variant");
  request.dtypes = read_dtypes(invocation, "check");
  request.shapes = read_shapes(invocation);
  request.options = read_settings(invocation, "check");
  request.contents = named<lab::Contents>(invocation, "contents", kContents);
  request.placements = named<lab::Placement>(invocation, "placement", kPlacements);
  request.seed = read_seed(invocation, "check");
  request.quick = invocation.has("quick");
  arguments.isolate = !invocation.has("no-isolate");
  if (const auto text = invocation.value("time-limit"))
    arguments.time_limit = std::chrono::seconds(require_count("check: --time-limit", *text, 1, 86400));
  if (const auto text = invocation.value("failures")) {
    arguments.failures = static_cast<std::size_t>(require_count("check: --failures", *text, 0, 1000000));
  }
  return arguments;
}

}  // namespace gpuforge::cli
