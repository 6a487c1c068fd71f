// gpuforge ops: what there is to check, time and tune.
#include "cli/lab_session.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace gpuforge::cli {
namespace {

template <typename Items, typename Text>
std::string joined(const Items& items, const Text& text_of) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + std::string(text_of(item));
  return text.empty() ? "-" : text;
}

std::string variant_names(const lab::Op& op) {
  return joined(op.variants, [](const lab::Variant& variant) { return variant.name; });
}
std::string dtype_names(const lab::Op& op) {
  return joined(op.dtypes, [](DType dtype) { return name(dtype); });
}

// One of the op's own problems, to ask for what depends on it.
lab::Problem sample_problem(const lab::Op& op, DType dtype) {
  lab::Problem problem = op.check_problems.front();
  problem.dtype = dtype;
  return lab::complete(op, std::move(problem));
}

struct OutputTolerance {
  std::string output;
  DType dtype = DType::f32;
  lab::Tolerance tolerance;
};

std::vector<OutputTolerance> tolerances(const lab::Op& op) {
  std::vector<OutputTolerance> list;
  for (const DType dtype : op.dtypes) {
    const lab::Problem problem = sample_problem(op, dtype);
    std::size_t output = 0;
    for (const lab::Operand& operand : op.operands(problem)) {
      if (operand.role == lab::Role::input) continue;
      list.push_back({operand.name, dtype, op.tolerance(problem, output++)});
    }
  }
  return list;
}

bool exact(const lab::Tolerance& tolerance) {
  return tolerance.relative == 0 && tolerance.absolute == 0 && tolerance.rounding == 0;
}

std::string operand_text(const lab::Operand& operand) {
  constexpr std::string_view kRoles[] = {"input", "output", "input and output"};
  return format_text("{} ({})", operand.name, kRoles[static_cast<std::size_t>(operand.role)]);
}

std::string tolerance_text(const lab::Tolerance& tolerance) {
  if (exact(tolerance)) return "exact";
  return format_text("{:.2g} of what goes in, {:.2g} of the value, {:.2g}; norm {:.2g}", tolerance.relative,
                     tolerance.rounding, tolerance.absolute, tolerance.norm);
}

Json tolerance_json(const OutputTolerance& one) {
  Json json = Json::object();
  json.set("output", one.output);
  json.set("dtype", name(one.dtype));
  json.set("relative", one.tolerance.relative);
  json.set("absolute", one.tolerance.absolute);
  json.set("rounding", one.tolerance.rounding);
  json.set("norm", one.tolerance.norm);
  json.set("reason", one.tolerance.reason);
  return json;
}

Json op_json(const lab::Op& op) {
  Json json = Json::object();
  json.set("name", op.name);
  json.set("summary", op.summary);
  Json variants = Json::array();
  for (const lab::Variant& variant : op.variants) {
    variants.push_back(Json::object().set("name", variant.name).set("summary", variant.summary));
  }
  json.set("variants", std::move(variants));
  Json dtypes = Json::array();
  for (const DType dtype : op.dtypes) dtypes.push_back(name(dtype));
  json.set("dtypes", std::move(dtypes));
  Json options = Json::array();
  for (const lab::OptionDescription& option : op.options) {
    Json values = Json::array();
    for (const std::string& value : option.values) values.push_back(value);
    Json entry = Json::object();
    entry.set("name", option.name);
    entry.set("default", option.fallback);
    entry.set("values", std::move(values));  // empty: any integer
    entry.set("summary", option.summary);
    options.push_back(std::move(entry));
  }
  json.set("options", std::move(options));
  Json operands = Json::array();
  for (const lab::Operand& operand : op.operands(sample_problem(op, op.dtypes.front()))) {
    operands.push_back(operand_text(operand));
  }
  json.set("operands", std::move(operands));
  json.set("strides", op.accepts_strides);
  json.set("deterministic", op.deterministic);
  Json contents = Json::array();
  for (const lab::Contents one : op.hard_contents) contents.push_back(lab::name(one));
  json.set("hard_contents", std::move(contents));
  Json list = Json::array();
  for (const OutputTolerance& one : tolerances(op)) list.push_back(tolerance_json(one));
  json.set("tolerances", std::move(list));
  Json problems = Json::array();
  for (const lab::Problem& problem : op.check_problems) problems.push_back(lab::shape_text(problem.shape));
  json.set("check_shapes", std::move(problems));
  return json;
}

// "label  text", the text wrapped beside it.
class Page {
 public:
  explicit Page(int columns) : columns_(columns) {}
  void heading(std::string_view text) { text_ += std::string(text) + "\n"; }
  void add(std::string_view label, std::string_view text) {
    constexpr std::size_t kLabel = 16;
    std::string start = "  " + std::string(label);
    start.append(start.size() < kLabel ? kLabel - start.size() : 2, ' ');
    text_ += start + wrap(text, columns_, static_cast<int>(kLabel), static_cast<int>(start.size())) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  const int columns_;
  std::string text_;
};

std::string option_text(const lab::OptionDescription& option) {
  return format_text("{}: {} ({})", option.summary,
                     option.values.empty() ? std::string("an integer")
                                           : joined(option.values, [](const std::string& v) { return v; }),
                     option.fallback);
}

std::string op_page(const lab::Op& op, int columns, const Style& style) {
  Page page(columns);
  page.heading(wrap(format_text("{}: {}", op.name, op.summary), columns, 0));
  page.add("operands", joined(op.operands(sample_problem(op, op.dtypes.front())), operand_text));
  page.add("dtypes", dtype_names(op));
  page.add("strides", op.accepts_strides ? "any view" : "contiguous arrays only");
  page.add("deterministic", op.deterministic ? "yes: the same input gives the same bits" : "no");
  page.heading("\n" + style(Color::bold, "Variants:"));
  for (const lab::Variant& variant : op.variants) page.add(variant.name, variant.summary);
  if (!op.options.empty()) page.heading("\n" + style(Color::bold, "Options (--set NAME=VALUE):"));
  for (const lab::OptionDescription& option : op.options) page.add(option.name, option_text(option));
  page.heading("\n" + style(Color::bold, "Tolerances of check:"));
  const std::vector<OutputTolerance> list = tolerances(op);
  for (const OutputTolerance& one : list) {
    page.add(format_text("{} {}", one.output, name(one.dtype)), tolerance_text(one.tolerance));
  }
  if (!list.empty()) page.add("why", list.front().tolerance.reason);
  page.heading("\n" + style(Color::bold, "What check tries:"));
  page.add("shapes", joined(op.check_problems, [](const lab::Problem& problem) {
             std::string text = lab::shape_text(problem.shape);
             for (const auto& [option, value] : problem.options) text += format_text(" {}={}", option, value);
             return text;
           }));
  page.add("hard inputs", joined(op.hard_contents, [](lab::Contents one) { return lab::name(one); }));
  return page.text();
}

int run(Session& session, const Invocation& invocation) {
  const std::vector<lab::Op> ops = named_ops(invocation.positionals);
  if (session.json) {
    Json list = Json::array();
    for (const lab::Op& op : ops) list.push_back(op_json(op));
    Json json = document("ops");
    json.set("ops", std::move(list));
    session.out.document(json);
    return kDone;
  }
  if (!invocation.positionals.empty()) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      session.out.write((i == 0 ? "" : "\n") + op_page(ops[i], session.terminal.columns, session.style));
    }
    return kDone;
  }
  Page page(session.terminal.columns);
  for (const lab::Op& op : ops) {
    page.heading(op.name);
    page.add("", op.summary);
    page.add("variants", variant_names(op));
    page.add("dtypes", dtype_names(op));
    if (op.options.empty()) continue;
    page.add("options", joined(op.options, [](const lab::OptionDescription& option) {
               return format_text("{} ({})", option.name, option.fallback);
             }));
  }
  session.out.write(page.text());
  return kDone;
}

constexpr Positional kPositionals[] = {{.name = "OP", .help = "show this one in full", .repeatable = true}};
constexpr Example kExamples[] = {
    {.line = "gpuforge ops", .meaning = "all of them, with variants, dtypes and options"},
    {.line = "gpuforge ops copy_transpose", .meaning = "one in full: tolerances and why, what check tries"},
};

}  // namespace

const Command kOpsCommand = {
    .name = "ops",
    .summary = "list the ops, with variants, dtypes, options and tolerances",
    .usage = "[OP...] [--json]",
    .positionals = kPositionals,
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
