#include "cli/bench_request.h"

#include <algorithm>
#include <charconv>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/lab/change.h"
#include "gpuforge/lab/kernel_file.h"
#include "gpuforge/lab/suite.h"

namespace gpuforge::cli {
namespace {

constexpr std::string_view kMethods[] = {"graph", "events"};
constexpr std::string_view kBackends[] = {"kernel", "ref"};
constexpr Option kOptions[] = {
    {.name = "suite", .value = "NAME", .help = "a named list of cases (smoke, when nothing else is given)"},
    {.name = "suites", .value = "FILE", .help = "take suites from this file", .kind = ValueKind::file},
    {.name = "op", .value = "NAME", .help = "this op or kernel file alone", .repeatable = true},
    {.name = "sizes", .value = "LIST", .help = "shapes: 4096x1024,8192x8192; 4096 is 4096x4096"},
    {.name = "dtypes", .value = "LIST", .help = "f16,bf16,f32"},
    {.name = "dim", .value = "N", .help = "the axis, for ops that have one"},
    {.name = "tile-size", .value = "N", .help = "16, 32 or auto, for copy_transpose"},
    {.name = "option", .value = "NAME=VALUE", .help = "any other option of the op", .repeatable = true},
    {.name = "variant", .value = "NAME", .help = "naive, best, ..; all for every one", .repeatable = true},
    {.name = "backend",
     .value = "NAME",
     .help = "kernel, or ref: the plain loop on the host",
     .values = kBackends},
    {.name = "no-tuning", .help = "choose configurations as if nothing had been tuned"},
    {.name = "explain", .help = "say which configuration each case has, and why"},
    {.name = "quick", .help = "a fifth of the time, and less sure of it"},
    {.name = "warmup", .value = "N", .help = "calls before the first sample"},
    {.name = "iterations", .value = "N", .help = "samples, instead of as many as the noise asks for"},
    {.name = "method",
     .value = "NAME",
     .help = "graph (replays over rotating operands) or events (each call, cache overwritten)",
     .values = kMethods,
     .only_values = true},
    {.name = "out", .value = "FILE", .help = "as --save", .kind = ValueKind::file},
    {.name = "save",
     .value = "FILE",
     .help = "write all results and samples as JSON",
     .kind = ValueKind::file},
    {.name = "compare", .value = "FILE", .help = "against what --save wrote", .kind = ValueKind::file},
    {.name = "fail-on-regression",
     .value = "PCT",
     .help = "exit 1 when a case is slower by more than PCT % (2), with confidence",
     .value_optional = true},
    {.name = "markdown", .help = "print the table as Markdown"},
    {.name = "csv", .help = "print the table as CSV"},
    {.name = "html", .value = "FILE", .help = "write one page with plots", .kind = ValueKind::file},
    {.name = "history", .help = "keep the results, and show earlier ones of the same cases"},
    {.name = "isolate",
     .help = "each case in a process of its own, so that a crash costs one row; kernel files always are"},
    {.name = "no-isolate", .help = "kernel files in this process"},
    {.name = "time-limit", .value = "SECONDS", .help = "of an isolated case (300)"},
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// A number alone is the edge of a square, for ops of two extents.
std::vector<Shape> read_sizes(const std::string& text, std::size_t rank) {
  std::vector<Shape> shapes;
  for (const std::string& part : split(text, ',')) {
    const auto square = rank != 1 && part.find('x') == std::string::npos ? parse_count(part) : std::nullopt;
    Shape shape = square ? Shape{*square, *square} : lab::parse_shape(part);
    GPUFORGE_CHECK(!part.empty() && !shape.empty(),
                   "bench: --sizes is a list such as 4096x1024,8192, but '{}' was given", text);
    element_count(shape);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

std::vector<DType> read_dtypes(const std::string& text) {
  std::vector<DType> dtypes;
  for (const std::string& part : split(text, ',')) {
    const auto dtype = parse_dtype(part);
    GPUFORGE_CHECK(dtype, "bench: --dtypes is a list such as f16,f32, but '{}' was given", text);
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

lab::Options read_options(const Invocation& invocation) {
  lab::Options options;
  for (const std::string& text : invocation.values("option")) {
    const std::size_t equals = text.find('=');
    GPUFORGE_CHECK(equals != std::string::npos && equals > 0,
                   "bench: --option is NAME=VALUE, but '{}' was given", text);
    options[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (const auto dim = invocation.value("dim")) options["dim"] = *dim;
  if (const auto tile = invocation.value("tile-size")) options["tile_size"] = *tile;
  return options;
}

double read_percent(const std::string& text) {
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  GPUFORGE_CHECK(error == std::errc() && end == text.data() + text.size() && percent >= 0 && percent <= 1000,
                 "bench: --fail-on-regression is a percentage from 0 to 1000, but '{}' was given", text);
  return percent / 100;
}

// Ops and kernel files by name, also without --op.
std::vector<std::string> wanted_ops(const Invocation& invocation) {
  std::vector<std::string> wanted = invocation.positionals;
  for (std::string& op : invocation.values("op")) wanted.push_back(std::move(op));
  return wanted;
}

// The suite's cases, or those of the ops named, before flags change them.
std::vector<lab::SuiteCase> listed_cases(const Invocation& invocation, const FindOp& find,
                                         BenchRequest& request) {
  const std::vector<std::string> wanted = wanted_ops(invocation);
  const bool from_suite = invocation.has("suite") || invocation.has("suites") || wanted.empty();
  std::vector<lab::SuiteCase> cases;
  if (!from_suite) {
    for (const std::string& op : wanted) {
      if (lab::names_kernel_file(op)) {  // its own shapes and dtypes: known_op() sets them
        lab::SuiteCase of_file;
        of_file.op = of_file.where = op;
        cases.push_back(std::move(of_file));
        continue;
      }
      for (const Shape& shape : {Shape{1024, 1024}, Shape{4096, 4096}}) {
        if (invocation.has("sizes") && shape[0] > 1024) continue;  // they are replaced anyway
        cases.push_back({.op = op, .problem = {.shape = shape, .dtype = DType::f16}, .where = "--op"});
      }
    }
    return cases;
  }
  const auto file = invocation.value("suites");
  const std::vector<lab::Suite> suites =
      file ? lab::read_suites(read_file(*file), *file) : lab::built_in_suites();
  const lab::Suite& suite = lab::find_suite(suites, invocation.value("suite").value_or("smoke"));
  request.suite = suite.name;
  request.measure.warmup = suite.warmup;
  request.measure.iterations = suite.iterations;
  for (const lab::SuiteCase& each : suite.cases) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), each.op) != wanted.end())
      cases.push_back(each);
  }
  for (const std::string& op : wanted) {
    const bool found =
        std::any_of(cases.begin(), cases.end(), [&](const auto& each) { return each.op == op; });
    if (!found) find(op);  // a slip of the fingers says so first
    GPUFORGE_CHECK(found, "bench: the suite {} has no case of op '{}'", suite.name, op);
  }
  return cases;
}

// Who computes the ops of a request.
struct Who {
  std::string backend;
  const ops::Backends& backends;
};

// The op, run by that backend; its variants stay, so that a case is called the same.
lab::Op by_backend(lab::Op op, const Who& who) {
  if (who.backend == "kernel") return op;
  lab::Op result =
      op.file.empty() ? who.backends.op(op.name, who.backend) : ops::Backends({op}).op(op.name, who.backend);
  result.variants = std::move(op.variants);
  return result;
}

const lab::Op& known_op(const FindOp& find, const Who& who, BenchRequest& request,
                        const lab::SuiteCase& listed) {
  const bool is_file = lab::names_kernel_file(listed.op);
  if (const auto found = request.ops.find(listed.op); found != request.ops.end()) return found->second;
  lab::Op op;
  try {
    op = find(listed.op);
  } catch (const Error& error) {
    if (is_file) throw;  // it names the file
    throw Error(error.code(), format_text("{}: {}", listed.where, error.message()));
  }
  op = by_backend(std::move(op), who);
  std::string name = op.name;
  return request.ops.insert_or_assign(std::move(name), std::move(op)).first->second;
}

// The largest of the shapes that a kernel file is checked with, in its first dtype.
lab::Problem problem_of_file(const lab::Op& op) {
  GPUFORGE_CHECK(!op.check_problems.empty(), "bench: {} names no shapes; give --sizes", op.name);
  lab::Problem problem = *std::max_element(op.check_problems.begin(), op.check_problems.end(),
                                           [](const lab::Problem& a, const lab::Problem& b) {
                                             return element_count(a.shape) < element_count(b.shape);
                                           });
  problem.dtype = op.dtypes.front();
  return problem;
}

void add_case(BenchRequest& request, lab::BenchCase which) {
  if (std::find(request.cases.begin(), request.cases.end(), which) == request.cases.end()) {
    request.cases.push_back(std::move(which));
  }
}

void read_cases(const Invocation& invocation, const FindOp& find, const ops::Backends& backends,
                BenchRequest& request) {
  const Who who{invocation.value("backend").value_or("kernel"), backends};
  const auto sizes = invocation.value("sizes");
  const auto dtypes = invocation.value("dtypes");
  const lab::Options options = read_options(invocation);
  lab::Options used;
  for (const lab::SuiteCase& listed : listed_cases(invocation, find, request)) {
    const lab::Op& op = known_op(find, who, request, listed);
    lab::Problem problem = op.file.empty() ? listed.problem : problem_of_file(op);
    for (const auto& [name, value] : options) {
      const bool has = std::any_of(op.options.begin(), op.options.end(),
                                   [&](const lab::OptionDescription& each) { return each.name == name; });
      if (!has) continue;
      problem.options[name] = value;
      used[name] = value;
    }
    std::vector<std::string> variants = invocation.values("variant");
    if (variants == std::vector<std::string>{"all"}) {
      variants.clear();
      for (const lab::Variant& variant : op.variants) variants.push_back(variant.name);
    }
    if (variants.empty()) variants.push_back(listed.variant);
    for (const Shape& shape : sizes ? read_sizes(*sizes, problem.shape.size()) : std::vector{problem.shape}) {
      for (const DType dtype : dtypes ? read_dtypes(*dtypes) : std::vector{problem.dtype}) {
        for (const std::string& variant : variants) {
          problem.shape = shape;
          problem.dtype = dtype;
          lab::BenchCase which{.op = op.name,
                               .problem = lab::complete(op, problem),
                               .variant = lab::find_variant(op, variant).name,
                               .backend = who.backend};
          op.operands(which.problem);  // refuses shapes that the op cannot have
          add_case(request, std::move(which));
        }
      }
    }
  }
  for (const auto& [name, value] : options) {
    GPUFORGE_CHECK(used.contains(name), "bench: no op that was asked for has the option '{}'", name);
  }
}

}  // namespace

std::span<const Option> bench_options() {
  return kOptions;
}

BenchRequest read_bench_request(const Invocation& invocation, const FindOp& find,
                                const ops::Backends& backends) {
  BenchRequest request;
  read_cases(invocation, find, backends, request);
  request.quick = invocation.has("quick");
  if (request.quick) {
    request.measure.seconds = 0.2;
    request.measure.warmup_seconds = 0.05;
    request.measure.noise = 0.01;
  }
  if (const auto text = invocation.value("warmup")) {
    request.measure.warmup = static_cast<std::size_t>(require_count("bench: --warmup", *text, 0, 1'000'000));
  }
  if (const auto text = invocation.value("iterations")) {
    request.measure.iterations =
        static_cast<std::size_t>(require_count("bench: --iterations", *text, 1, 1'000'000));
  }
  if (invocation.value("method") == "events") request.measure.method = lab::Method::events;
  if (const auto text = invocation.value("time-limit")) {
    request.time_limit_seconds = static_cast<double>(require_count("bench: --time-limit", *text, 1, 86400));
  }
  GPUFORGE_CHECK(!(invocation.has("isolate") && invocation.has("no-isolate")),
                 "bench: --isolate and --no-isolate exclude each other");
  const bool has_file = std::any_of(request.ops.begin(), request.ops.end(),
                                    [](const auto& known) { return !known.second.file.empty(); });
  request.isolate = invocation.has("isolate") || (has_file && !invocation.has("no-isolate"));
  request.markdown = invocation.has("markdown");
  request.csv = invocation.has("csv");
  request.history = invocation.has("history");
  request.explain = invocation.has("explain");
  GPUFORGE_CHECK(!(request.markdown && request.csv), "bench: --markdown and --csv exclude each other");
  GPUFORGE_CHECK(!(request.explain && request.csv), "bench: --explain has no columns; leave --csv out");
  GPUFORGE_CHECK(!(invocation.has("out") && invocation.has("save")),
                 "bench: --out and --save are the same; give one");
  if (const auto path = invocation.value("out")) request.save = *path;
  if (const auto path = invocation.value("save")) request.save = *path;
  if (const auto path = invocation.value("html")) request.page = *path;
  if (const auto path = invocation.value("compare")) request.baseline = *path;
  request.least_change = lab::kRunToRun;
  if (const auto percent = invocation.value("fail-on-regression")) {
    request.fail_on_regression = true;
    GPUFORGE_CHECK(request.baseline, "bench: --fail-on-regression needs --compare FILE to compare with");
    if (!percent->empty()) request.least_change = read_percent(*percent);
  }
  return request;
}

}  // namespace gpuforge::cli
