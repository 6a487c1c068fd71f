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
    read_reference();
    read_dtypes();
    read_judgement();
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
      HeadOperand operand = read_operand(value);
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

  // x: in T [M, N]    or    x: {role: in, dtype: T, shape: [M, N], centre: 1}
  HeadOperand read_operand(const Yaml& yaml) {
    HeadOperand operand;
    std::string role;
    std::string dtype = "T";
    if (yaml.is_map()) {
      yaml.allow_keys({"role", "dtype", "shape", "centre"});
      role = yaml.at("role").text();
      if (const Yaml* const found = yaml.find("dtype")) dtype = found->text();
      if (const Yaml* const centre = yaml.find("centre")) operand.centre = centre->number();
      operand.shape = unchecked_shape(yaml.at("shape"));
    } else {
      const std::string& text = yaml.text();
      const std::size_t open = std::min(text.find('['), text.size());
      const std::size_t close = text.find_last_of(']');
      const std::string words = text.substr(0, open);
      const std::size_t blank = words.find(' ');
      role = words.substr(0, blank);
      if (blank != std::string::npos) dtype = words.substr(blank + 1);
      while (dtype.ends_with(' ')) dtype.pop_back();
      while (dtype.starts_with(' ')) dtype.erase(0, 1);
      if (open == text.size() || close == std::string::npos || close + 1 != text.size() ||
          blank == std::string::npos)
        yaml.fail(format_text("expected ROLE DTYPE [SHAPE], as in `in T [M, N]`; found '{}'", text));
      operand.shape = split_shape(text.substr(open + 1, close - open - 1), yaml);
    }
    if (role != "in" && role != "out" && role != "inout")
      yaml.fail(format_text("expected the role in, out or inout; found '{}'", role));
    operand.role = role == "in" ? Role::input : role == "out" ? Role::output : Role::inout;
    if (dtype != "T" && (head_.element.empty() || dtype != head_.element)) {
      operand.dtype = parse_dtype(dtype);
      if (!operand.dtype)
        yaml.fail(
            format_text("expected T (the dtype that is asked for) or one such as i32; found '{}'", dtype));
    }
    if (operand.shape.size() > kMaxRank) yaml.fail(format_text("expected at most {} extents", kMaxRank));
    return operand;
  }

  // The symbols are not known before all shapes are read.
  std::vector<Expression> unchecked_shape(const Yaml& yaml) {
    if (!yaml.is_list()) yaml.fail("expected a list of extents such as [M, N]");
    std::string text;
    for (const Yaml& item : yaml.list()) text += (text.empty() ? "" : ", ") + item.text();
    return split_shape(text, yaml);
  }

  static std::vector<Expression> split_shape(const std::string& text, const Yaml& yaml) {
    std::vector<Expression> shape;
    int depth = 0;
    std::string piece;
    const auto finish = [&] {
      shape.push_back(Expression::parse(piece, yaml.where()));
      piece.clear();
    };
    for (const char c : text) {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (c == ',' && depth == 0) {
        finish();
      } else {
        piece += c;
      }
    }
    if (!shape.empty() || piece.find_first_not_of(' ') != std::string::npos) finish();
    return shape;
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

  void read_reference() {
    const Yaml* const reference = yaml_.find("reference");
    if (reference == nullptr) {
      if (!head_.op)
        yaml_.fail(
            "expected `reference:` with a kernel of this file or a python function, or a built-in `op`");
      return;
    }
    if (head_.op) reference->fail("the built-in `op` is the reference: leave one of the two out");
    // A plain word is a kernel of this file, launched as the other one.
    if (!reference->is_map())
      reference->fail("expected `kernel: NAME` or `python: FILE.py:FUNCTION` below it");
    reference->allow_keys({"kernel", "parameters", "grid", "block", "shared", "cluster", "dtype", "python",
                           "arrays", "seconds"});
    const Yaml* const python = reference->find("python");
    if ((python != nullptr) == (reference->find("kernel") != nullptr))
      reference->fail("expected `kernel: NAME` or `python: FILE.py:FUNCTION`, one of the two");
    if (python != nullptr) return read_python(*reference, *python);
    for (const std::string_view key : {"arrays", "seconds"}) {
      if (const Yaml* const found = reference->find(key))
        found->fail(format_text("`{}` goes with `python`", key));
    }
    ReferenceKernel kernel{read_launch(*reference, names_, &head_.launch), false};
    if (const Yaml* const dtype = reference->find("dtype")) {
      if (dtype->text() != "f64" && dtype->text() != "same")
        dtype->fail(
            format_text("expected f64 (what is T elsewhere is double) or same; found '{}'", dtype->text()));
      kernel.same_dtype = dtype->text() == "same";
    }
    head_.reference_kernel = std::move(kernel);
  }

  void read_python(const Yaml& reference, const Yaml& python) {
    for (const auto& [key, value] : reference.map()) {
      if (key.text() != "python" && key.text() != "arrays" && key.text() != "seconds")
        key.fail(format_text("`{}` goes with `kernel`, not with `python`", key.text()));
    }
    PythonReference result{.where = python.where()};
    const std::size_t colon = python.text().rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == python.text().size())
      python.fail(format_text("expected FILE.py:FUNCTION; found '{}'", python.text()));
    result.file = python.text().substr(0, colon);
    result.function = python.text().substr(colon + 1);
    if (const Yaml* const arrays = reference.find("arrays")) {
      if (arrays->text() != "numpy" && arrays->text() != "lists")
        arrays->fail(format_text("expected numpy or lists; found '{}'", arrays->text()));
      result.lists = arrays->text() == "lists";
    }
    if (const Yaml* const seconds = reference.find("seconds")) {
      if (seconds->integer() < 1 || seconds->integer() > 3600) seconds->fail("expected 1 to 3600 seconds");
      result.seconds = static_cast<int>(seconds->integer());
    }
    head_.python = std::move(result);
  }

  void read_dtypes() {
    if (const Yaml* const dtypes = yaml_.find("dtypes")) {
      const auto add = [&](const Yaml& item) {
        const DType dtype = read_dtype(item);
        if (head_.op &&
            std::find(head_.op->dtypes.begin(), head_.op->dtypes.end(), dtype) == head_.op->dtypes.end())
          item.fail(format_text("the op {} has no {}", head_.op->name, name(dtype)));
        if (std::find(head_.dtypes.begin(), head_.dtypes.end(), dtype) != head_.dtypes.end())
          item.fail(format_text("{} stands there twice", name(dtype)));
        head_.dtypes.push_back(dtype);
      };
      if (dtypes->is_list()) {
        for (const Yaml& item : dtypes->list()) add(item);
      } else {
        add(*dtypes);
      }
      if (head_.dtypes.empty()) dtypes->fail("expected at least one dtype");
    } else if (head_.op) {
      head_.dtypes = head_.op->dtypes;
    } else {
      head_.dtypes = {DType::f32};
    }
  }

  static Tolerance read_tolerance(const Yaml& yaml) {
    Tolerance tolerance{.reason = format_text("{} says so", yaml.where())};
    if (yaml.is_scalar()) {
      if (yaml.text() != "exact")
        yaml.fail(format_text("expected exact, or relative, absolute and norm; found '{}'", yaml.text()));
      return tolerance;
    }
    yaml.allow_keys({"relative", "absolute", "norm"});
    const auto read = [&](std::string_view key) {
      const Yaml* const found = yaml.find(key);
      if (found == nullptr) return 0.0;
      const double value = found->number();
      if (!(value >= 0 && value < 1e30))
        found->fail(format_text("expected a number from 0; found '{}'", found->text()));
      return value;
    };
    tolerance.relative = read("relative");
    tolerance.absolute = read("absolute");
    tolerance.norm = read("norm");
    return tolerance;
  }

  void read_tolerances() {
    const Yaml* const tolerance = yaml_.find("tolerance");
    if (tolerance == nullptr) return;
    const bool by_dtype = tolerance->is_map() && !tolerance->map().empty() &&
                          parse_dtype(tolerance->map().front().first.text()).has_value();
    if (!by_dtype) {
      head_.tolerance = read_tolerance(*tolerance);
      return;
    }
    for (const auto& [key, value] : tolerance->map())
      head_.tolerances[read_dtype(key)] = read_tolerance(value);
  }

  // What it may cost and how it is checked.
  void read_judgement() {
    if (const Yaml* const conditions = yaml_.find("requires"))
      head_.conditions = read_expressions(*conditions, names_.values);
    read_tolerances();
    if (const Yaml* const cost = yaml_.find("cost")) {
      cost->allow_keys({"read", "written", "flops"});
      if (const Yaml* const found = cost->find("read"))
        head_.cost.read = read_expression(*found, names_.values);
      if (const Yaml* const found = cost->find("written"))
        head_.cost.written = read_expression(*found, names_.values);
      if (const Yaml* const found = cost->find("flops"))
        head_.cost.flops = read_expression(*found, names_.values);
    }
    if (const Yaml* const shapes = yaml_.find("check_shapes")) {
      for (const Yaml& item : shapes->list()) head_.check_shapes.push_back(read_shape(item));
      if (head_.check_shapes.empty()) shapes->fail("expected at least one shape");
    }
    if (const Yaml* const contents = yaml_.find("contents")) {
      head_.contents.emplace();
      for (const Yaml& item : contents->list()) head_.contents->push_back(read_contents(item));
    }
    if (const Yaml* const deterministic = yaml_.find("deterministic"))
      head_.deterministic = deterministic->boolean();
  }

  // 33x65, or [33, 65].
  Shape read_shape(const Yaml& yaml) {
    Shape shape;
    try {
      if (yaml.is_list()) {
        for (const Yaml& extent : yaml.list()) shape.push_back(extent.integer());
        shape = parse_shape(shape_text(shape));
      } else {
        shape = parse_shape(yaml.text());
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::parse) throw;
      yaml.fail(error.message());
    }
    if (shape.size() != head_.symbols.size()) {
      yaml.fail(format_text("expected {} extents, one for each symbol; found {}", head_.symbols.size(),
                            shape_text(shape)));
    }
    return shape;
  }

  static Contents read_contents(const Yaml& yaml) {
    std::vector<std::string> names;
    for (const Contents contents : {Contents::normal, Contents::zeros, Contents::constant, Contents::huge,
                                    Contents::tiny, Contents::infinities, Contents::nans}) {
      if (yaml.text() == name(contents)) return contents;
      names.emplace_back(name(contents));
    }
    std::string list;
    for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
    yaml.fail(format_text("expected one of {}; found '{}'", list, yaml.text()));
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
