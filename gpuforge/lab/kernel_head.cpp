#include "gpuforge/lab/kernel_head.h"

#include <algorithm>

#include "gpuforge/base/error.h"
#include "gpuforge/base/suggest.h"
#include "gpuforge/lab/head_reader.h"

namespace gpuforge::lab {
namespace {

constexpr std::size_t kMostTunableValues = 256;

bool contains(std::span<const std::string> list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

class HeadReader {
 public:
  HeadReader(const Yaml& yaml, const FindOp& find_op) : yaml_(yaml), find_op_(find_op) {}

  KernelHead read() {
    if (!yaml_.is_map()) yaml_.fail("expected the head's keys, such as `kernel: NAME`");
    yaml_.allow_keys({"summary", "op",           "options",      "symbols",         "operands",
                      "kernel",  "parameters",   "grid",         "block",           "shared",
                      "cluster", "dtypes",       "tunables",     "requires",        "tolerance",
                      "cost",    "check_shapes", "contents",     "deterministic",   "reference",
                      "element", "defines",      "include_dirs", "compile_options", "file"});
    head_.where = yaml_.where();
    if (const Yaml* const file = yaml_.find("file")) head_.file = file->text();
    if (const Yaml* const summary = yaml_.find("summary")) head_.summary = summary->text();
    if (const Yaml* const element = yaml_.find("element"))
      head_.element = element->text() == "none" ? std::string() : read_name(*element, "the element type");
    read_tunables();
    if (const Yaml* const symbols = yaml_.find("symbols")) head_.symbols = read_names(*symbols, "a symbol");
    read_what();
    check_names();
    head_.launch = read_launch(yaml_, names_, nullptr);
    check_outputs_are_parameters(head_.launch);
    read_reference(yaml_, names_, head_);
    read_dtypes(yaml_, head_);
    read_judgement(yaml_, names_, head_);
    read_compile_settings();
    return std::move(head_);
  }

 private:
  void read_tunables() {
    const Yaml* const tunables = yaml_.find("tunables");
    if (tunables == nullptr) return;
    for (const auto& [key, values] : tunables->map()) {
      HeadTunable tunable{read_name(key, "a tunable"), {}};
      if (values.is_list()) {
        for (const Yaml& value : values.list()) {
          tunable.values.push_back(value.integer());
          if (std::count(tunable.values.begin(), tunable.values.end(), tunable.values.back()) > 1)
            value.fail(format_text("{} stands there twice", value.text()));
        }
      } else {
        tunable.values.push_back(values.integer());
      }
      if (tunable.values.empty() || tunable.values.size() > kMostTunableValues)
        values.fail(format_text("expected 1 to {} values of {}", kMostTunableValues, tunable.name));
      head_.tunables.push_back(std::move(tunable));
    }
  }

  // An op, or operands.
  void read_what() {
    const Yaml* const op = yaml_.find("op");
    const Yaml* const operands = yaml_.find("operands");
    if ((op != nullptr) == (operands != nullptr)) {
      (op != nullptr ? *operands : yaml_)
          .fail(op != nullptr ? "`op` brings its own operands: leave one of the two out"
                              : "expected `op: NAME` (a built-in op) or `operands:` with their shapes");
    }
    if (op != nullptr) {
      read_op(*op);
    } else {
      read_operands(*operands);
    }
  }

  void read_op(const Yaml& op) {
    try {
      head_.op = find_op_(op.text());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      op.fail(error.message());
    }
    if (const Yaml* const options = yaml_.find("options")) {
      for (const auto& [key, value] : options->map()) head_.options[key.text()] = value.text();
      try {
        complete(*head_.op, {.dtype = head_.op->dtypes.front(), .options = head_.options});
      } catch (const Error& error) {
        options->fail(error.message());
      }
    }
    head_.options =
        complete(*head_.op, {.dtype = head_.op->dtypes.front(), .options = head_.options}).options;
    if (yaml_.find("symbols") == nullptr)
      op.fail("expected `symbols: [M, N]` too: names for the extents of the op's first input");
    try {
      for (const Operand& operand : operands_of_op(head_)) names_.operands.push_back(operand.name);
    } catch (const Error& error) {
      yaml_.at("symbols").fail(error.message());
    }
  }

  void read_operands(const Yaml& operands) {
    if (yaml_.find("options") != nullptr) yaml_.at("options").fail("`options` are those of a built-in `op`");
    for (const auto& [key, value] : operands.map()) {
      HeadOperand operand = read_operand(value, head_.element);
      operand.name = read_name(key, "an operand");
      names_.operands.push_back(operand.name);
      head_.operands.push_back(std::move(operand));
    }
    const bool has_output =
        std::any_of(head_.operands.begin(), head_.operands.end(),
                    [](const HeadOperand& operand) { return operand.role != Role::input; });
    if (!has_output)
      operands.fail("expected an operand with the role out or inout: what the kernel computes");
    name_symbols(operands);
  }

  // In the order they appear in the operands' shapes, unless `symbols` says another.
  void name_symbols(const Yaml& operands) {
    const bool declared = yaml_.find("symbols") != nullptr;
    std::vector<std::string> allowed = head_.symbols;
    for (const HeadOperand& operand : head_.operands) {
      for (const Expression& extent : operand.shape) {
        if (declared) {
          extent.allow_names(allowed);
          continue;
        }
        for (const std::string& name : extent.names()) {
          if (!contains(head_.symbols, name) && !name.starts_with("sizeof")) head_.symbols.push_back(name);
        }
      }
    }
    if (head_.symbols.empty()) operands.fail("expected a symbol in the operands' shapes, such as [N]");
    if (head_.symbols.size() > kMaxRank) operands.fail(format_text("expected at most {} symbols", kMaxRank));
  }

  void check_names() {
    std::vector<std::string> seen = names_.operands;
    const auto add = [&](const std::string& name, const Yaml& yaml) {
      if (name == head_.element || contains(seen, name))
        yaml.fail(format_text("'{}' is the name of two things", name));
      seen.push_back(name);
      names_.values.push_back(name);
    };
    const Yaml* const symbols = yaml_.find("symbols");
    for (const std::string& symbol : head_.symbols)
      add(symbol, symbols != nullptr ? *symbols : yaml_.at("operands"));
    for (const HeadTunable& tunable : head_.tunables) add(tunable.name, yaml_.at("tunables"));
    names_.replaceable = names_.values;
    names_.replaceable.insert(names_.replaceable.begin(), head_.element.empty() ? "T" : head_.element);
    for (const auto& [option, value] : head_.options) {
      if (!contains(names_.values, option)) names_.values.push_back(option);
    }
    names_.values.push_back("sizeof(T)");
  }

  void check_outputs_are_parameters(const HeadLaunch& launch) {
    std::vector<std::string> outputs;
    if (head_.op) {
      for (const Operand& operand : operands_of_op(head_)) {
        if (operand.role != Role::input) outputs.push_back(operand.name);
      }
    }
    for (const HeadOperand& operand : head_.operands) {
      if (operand.role != Role::input) outputs.push_back(operand.name);
    }
    for (const std::string& output : outputs) {
      const bool given = std::any_of(launch.parameters.begin(), launch.parameters.end(),
                                     [&](const auto& p) { return !p.value && p.name == output; });
      if (!given)
        yaml_.at("parameters").fail(format_text("expected the output '{}' among the parameters", output));
    }
  }

  void read_compile_settings() {
    if (const Yaml* const defines = yaml_.find("defines")) head_.defines = read_texts(*defines);
    if (const Yaml* const folders = yaml_.find("include_dirs")) head_.include_dirs = read_texts(*folders);
    if (const Yaml* const options = yaml_.find("compile_options"))
      head_.compile_options = read_texts(*options);
  }

  const Yaml& yaml_;
  const FindOp& find_op_;
  KernelHead head_;
  LaunchNames names_;
};

}  // namespace

std::vector<Operand> operands_of_op(const KernelHead& head) {
  GPUFORGE_ASSERT(head.op.has_value(), "the head names no op");
  for (const Problem& candidate : head.op->check_problems) {
    if (candidate.shape.size() != head.symbols.size()) continue;
    Problem problem{.shape = candidate.shape, .dtype = head.op->dtypes.front(), .options = head.options};
    try {
      return head.op->operands(complete(*head.op, problem));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
    }
  }
  throw Error(ErrorCode::invalid_argument,
              format_text("the op {} is not checked on shapes of {} extent{} with these options",
                          head.op->name, head.symbols.size(), head.symbols.size() == 1 ? "" : "s"));
}

KernelHead parse_head(const Yaml& head, const FindOp& find_op) {
  return HeadReader(head, find_op).read();
}

}  // namespace gpuforge::lab
