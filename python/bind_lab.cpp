// The lab: ops of the library, files of users and Python functions, checked, measured and tuned.
#include <mutex>

#include "gpuforge/base/convert.h"
#include "gpuforge/lab/bench.h"
#include "gpuforge/lab/bench_json.h"
#include "gpuforge/lab/check_plan.h"
#include "gpuforge/lab/kernel_file.h"
#include "gpuforge/lab/suite.h"
#include "gpuforge/lab/tune.h"
#include "gpuforge/lab/tuning_record.h"
#include "gpuforge/ops/registry.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

// An operand of a Python candidate, as its description says.
lab::Operand operand_from(nb::handle description, lab::Role role) {
  lab::Operand operand;
  operand.name = nb::cast<std::string>(description[0]);
  operand.dtype = dtype_from(description[1]);
  operand.shape = dims_from(description[2], "shape");
  operand.role = role;
  return operand;
}

// Python objects that threads without the interpreter's lock copy and drop.
using Kept = std::shared_ptr<nb::object>;
Kept keep(nb::handle object) {
  return {new nb::object(nb::borrow(object)), [](nb::object* kept) {
            if (!nb::is_alive()) return;
            const nb::gil_scoped_acquire acquire;
            delete kept;
          }};
}

[[noreturn]] void raised(const nb::python_error& error, const char* who) {
  throw Error(ErrorCode::invalid_argument, format_text("{} raised {}", who, error.what()));
}

// A Python function as an Op. `call` runs it (outputs first), `reference` gets float64 arrays of NumPy.
lab::Op op_from_functions(std::string op_name, nb::handle call, nb::handle reference, nb::handle inputs,
                          nb::handle outputs, double rtol, double atol) {
  std::vector<lab::Operand> operands;
  for (const nb::handle each : outputs) operands.push_back(operand_from(each, lab::Role::output));
  for (const nb::handle each : inputs) operands.push_back(operand_from(each, lab::Role::input));
  GPUFORGE_CHECK(!operands.empty() && operands.front().role == lab::Role::output,
                 "lab: a candidate has at least one output");
  lab::Op op;
  op.name = std::move(op_name);
  op.summary = "a Python function";
  op.variants = {{"python", "as it is"}};
  op.dtypes = {operands.front().dtype};
  lab::Problem problem;
  problem.shape = operands.front().shape;
  problem.dtype = operands.front().dtype;
  op.check_problems = {problem};
  double read = 0, written = 0;
  for (const lab::Operand& operand : operands) {
    const double bytes =
        static_cast<double>(element_count(operand.shape)) * static_cast<double>(element_bytes(operand.dtype));
    (operand.role == lab::Role::input ? read : written) += bytes;
  }
  op.operands = [operands](const lab::Problem&) { return operands; };
  op.tolerance = [rtol, atol](const lab::Problem&, std::size_t) {
    return lab::Tolerance{.relative = rtol, .absolute = atol, .reason = "as the caller asked for"};
  };
  op.cost = [read, written](const lab::Problem&) { return lab::Cost{read, written, 0}; };
  op.run = [call = keep(call)](const lab::Call& which) {
    const nb::gil_scoped_acquire acquire;
    push_stream(which.stream);
    try {
      nb::list arrays;
      for (const Array& array : which.operands) arrays.append(nb::cast(array));
      (*call)(*arrays);
      pop_stream();
    } catch (const nb::python_error& error) {
      pop_stream();
      raised(error, "the candidate");
    }
  };
  op.reference = [reference = keep(reference)](const lab::Problem&, std::span<const lab::HostTensor> tensors,
                                               const lab::EachRow&) {
    const nb::gil_scoped_acquire acquire;
    try {
      const nb::module_ np = nb::module_::import_("numpy");
      nb::list arrays;
      for (const lab::HostTensor& tensor : tensors) {
        nb::object array = np.attr("empty")(tuple_from(tensor.shape), nb::arg("dtype") = "float64");
        const auto address = nb::cast<std::uintptr_t>(array.attr("ctypes").attr("data"));
        std::copy(tensor.values.begin(), tensor.values.end(), reinterpret_cast<double*>(address));
        arrays.append(array);
      }
      nb::object results = (*reference)(*arrays);
      if (!nb::isinstance<nb::tuple>(results) && !nb::isinstance<nb::list>(results))
        results = nb::make_tuple(results);
      std::vector<lab::Expected> expected;
      for (const nb::handle result : results) {
        const nb::object flat = np.attr("ascontiguousarray")(result, nb::arg("dtype") = "float64");
        const auto* const values =
            reinterpret_cast<const double*>(nb::cast<std::uintptr_t>(flat.attr("ctypes").attr("data")));
        expected.push_back(
            {std::vector<double>(values, values + nb::cast<std::size_t>(flat.attr("size"))), {}});
      }
      return expected;
    } catch (const nb::python_error& error) {
      raised(error, "the reference");
    }
  };
  op.kernels = [](Context&, const lab::Problem&, std::string_view, const Config*) {
    return std::vector<std::shared_ptr<const jit::Kernel>>();
  };
  op.choose = [](const lab::Problem&, std::string_view, const device::DeviceFacts&, const TuningTable&) {
    return lab::Choice{{}, "a Python function has no configurations"};
  };
  op.configs = [](const lab::Problem&, std::string_view, const device::DeviceFacts&) {
    return std::vector<Config>();
  };
  op.tuning_key = [name = op.name](const lab::Problem&, std::string_view variant) {
    return TuningKey{.op = name, .variant = std::string(variant)};
  };
  return op;
}

struct PythonOp {
  lab::Op op;
};

lab::Op op_from(nb::handle what) {
  if (nb::isinstance<PythonOp>(what)) return nb::cast<const PythonOp&>(what).op;
  const std::string text = nb::isinstance<nb::str>(what)
                               ? nb::cast<std::string>(what)
                               : nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(what));
  return released([&] {
    if (!lab::names_kernel_file(text)) return ops::find_op(text);
    lab::KernelFileOptions options;
    options.find_op = [](std::string_view op_name) { return ops::find_op(op_name); };
    options.reference_context = [] { return session().open_default_for_kernels().context; };
    options.program_path = session().environment().path;
    return lab::read_kernel_file(text, options);
  });
}

std::shared_ptr<Context> lab_context(nb::handle device_name) {
  if (!device_name.is_none()) return place_from(device_name, nb::none()).context;
  return released([] { return session().open_default_for_kernels().context; });
}

lab::Options options_from(nb::handle options) {
  lab::Options made;
  if (options.is_none()) return made;
  for (const auto& [key, value] : nb::borrow<nb::dict>(options))
    made.emplace(nb::cast<std::string>(key), nb::cast<std::string>(nb::str(value)));
  return made;
}

lab::Problem problem_from(const lab::Op& op, nb::handle shape, nb::handle dtype, nb::handle options) {
  lab::Problem problem;
  if (!op.check_problems.empty()) problem = op.check_problems.front();
  if (!shape.is_none()) problem.shape = dims_from(shape, "shape");
  problem.dtype = dtype_or_none(dtype).value_or(op.dtypes.front());
  for (auto& [key, value] : options_from(options)) problem.options[key] = value;
  return lab::complete(op, std::move(problem));
}

nb::object check(nb::handle what, nb::handle device_name, nb::handle shapes, nb::handle dtypes,
                 std::vector<std::string> variants, nb::handle options, bool quick, std::uint64_t seed) {
  const lab::Op op = op_from(what);
  const auto context = lab_context(device_name);
  lab::CheckRequest request;
  request.variants = std::move(variants);
  request.quick = quick;
  request.seed = seed;
  request.options = options_from(options);
  if (!shapes.is_none())
    for (const nb::handle shape : shapes) request.shapes.push_back(dims_from(shape, "shape"));
  if (!dtypes.is_none())
    for (const nb::handle dtype : dtypes) request.dtypes.push_back(dtype_from(dtype));
  const auto results = released([&] {
    const lab::CheckPlan plan = lab::plan_checks(std::span(&op, 1), request, context->device().facts().kind);
    return lab::run_checks(plan, [&](const lab::Op& each, const lab::CheckCase& which) {
      return lab::check(each, which, context);
    });
  });
  bool good = true;
  nb::list cases;
  for (const lab::CaseResult& result : results) {
    nb::dict each;
    each["case"] = lab::to_string(result.planned.which);
    each["variant"] = result.planned.which.variant;
    each["dtype"] = python_name(result.planned.which.problem.dtype);
    each["shape"] = tuple_from(result.planned.which.problem.shape);
    each["good"] = result.report.good();
    each["complaints"] = nb::cast(lab::complaints(result.report));
    each["seconds"] = result.seconds;
    double worst = 0;
    for (const lab::OutputReport& output : result.report.outputs)
      worst = std::max(worst, output.comparison.worst_ratio);
    each["worst_ratio"] = worst;
    good = good && result.report.good();
    cases.append(each);
  }
  nb::dict made;
  made["op"] = op.name;
  made["device"] = context->device().facts().name;
  made["good"] = good;
  made["cases"] = cases;
  return made;
}

nb::object bench(nb::handle what, nb::handle device_name, nb::handle shape, nb::handle dtype,
                 const std::string& variant, nb::handle options, double seconds, int repetitions,
                 const std::string& method) {
  const lab::Op op = op_from(what);
  const auto context = lab_context(device_name);
  lab::BenchCase which;
  which.op = op.name;
  which.problem = problem_from(op, shape, dtype, options);
  which.variant = lab::find_variant(op, variant).name;
  lab::MeasureOptions measure;
  measure.seconds = seconds;
  measure.repetitions = repetitions;
  GPUFORGE_CHECK(method == "graph" || method == "events",
                 "bench: method: graph or events was expected, got '{}'", method);
  measure.method = method == "graph" ? lab::Method::graph : lab::Method::events;
  const lab::BenchResult result = released([&] {
    lab::LastWorked last;
    return lab::bench(op, which, context, measure, nullptr, last);
  });
  nb::dict made = nb::cast<nb::dict>(json_value(lab::to_json(result)));
  made["good"] = result.good();
  made["failure"] = result.failure;
  made["device"] = context->device().facts().name;
  made["median_ms"] =
      result.measurement ? nb::object(nb::float_(result.measurement->summary.p50)) : nb::object(nb::none());
  made["gb_per_s"] = result.gb_per_s();
  return made;
}

nb::object tune(nb::handle what, nb::handle device_name, nb::handle shape, nb::handle dtype,
                const std::string& variant, nb::handle options, std::optional<double> seconds, bool keep) {
  const lab::Op op = op_from(what);
  const auto context = lab_context(device_name);
  const auto folder = keep ? lab::tuning_folder(session().jit().cache_dir) : std::nullopt;
  if (keep && !folder) {
    session().log()->warning(
        "tune: results are not kept: there is no cache folder, since HOME is not set; name one in "
        "GPUFORGE_CACHE_DIR, or say keep=False");
  }
  lab::TuneRequest request;
  request.problem = problem_from(op, shape, dtype, options);
  request.variant = lab::find_variant(op, variant).name;
  request.seconds = seconds;
  const lab::TuneResult result = released([&] {
    if (!folder) return lab::tune(op, request, context);
    const std::vector<lab::TuningRecord> known = lab::read_tuning(*folder, *session().log());
    return lab::tune(op, request, context, {.known = known, .keep = [&](const lab::TuningRecord& record) {
                                              lab::append_tuning(*folder, record);
                                            }});
  });
  nb::dict made;
  made["op"] = op.name;
  made["device"] = context->device().facts().name;
  made["space"] = result.space;
  made["unit"] = std::string(lab::cost_unit(context->device().facts()));
  made["ended"] = result.ended;
  made["kept_in"] =
      folder ? nb::object(
                   nb::str(lab::tuning_file(*folder, lab::tuned_device(context->device().facts())).c_str()))
             : nb::object(nb::none());
  nb::list records;
  for (const lab::TuningRecord& record : result.records) records.append(json_value(lab::to_json(record)));
  made["records"] = records;
  made["best"] = result.best() != nullptr ? json_value(lab::to_json(*result.best())) : nb::object(nb::none());
  made["default"] =
      result.usual() != nullptr ? json_value(lab::to_json(*result.usual())) : nb::object(nb::none());
  return made;
}

}  // namespace

void bind_lab(nb::module_& m) {
  nb::module_ sub = m.def_submodule("lab", "Kernels checked against references, measured and tuned.");
  nb::class_<PythonOp>(sub, "Candidate", "A Python function that the lab checks and measures like a kernel.")
      .def_prop_ro("name", [](const PythonOp& self) { return self.op.name; });
  sub.def(
      "_candidate",
      [](std::string name, nb::handle call, nb::handle reference, nb::handle inputs, nb::handle outputs,
         double rtol, double atol) {
        return PythonOp{op_from_functions(std::move(name), call, reference, inputs, outputs, rtol, atol)};
      },
      nb::arg("name"), nb::arg("call"), nb::arg("reference"), nb::arg("inputs"), nb::arg("outputs"),
      nb::arg("rtol"), nb::arg("atol"));
  sub.def("ops", [] {
    std::vector<std::string> names;
    for (const lab::Op& op : ops::all_ops()) names.push_back(op.name);
    return names;
  });
  sub.def(
      "suites",
      [] {
        nb::dict made;
        for (const lab::Suite& suite : lab::built_in_suites()) made[suite.name.c_str()] = suite.summary;
        return made;
      },
      nb::sig("def suites() -> dict[str, str]"));
  sub.def(
      "suite_cases",
      [](const std::string& name) {
        nb::list list;
        const auto suites = lab::built_in_suites();
        for (const lab::SuiteCase& each : lab::find_suite(suites, name).cases) {
          nb::dict made;
          made["op"] = each.op;
          made["shape"] = tuple_from(each.problem.shape);
          made["dtype"] = python_name(each.problem.dtype);
          made["variant"] = each.variant;
          nb::dict options;
          for (const auto& [key, value] : each.problem.options) options[key.c_str()] = value;
          made["options"] = options;
          list.append(made);
        }
        return list;
      },
      nb::arg("name"), nb::sig("def suite_cases(name: str) -> list[dict[str, typing.Any]]"),
      "What `gpuforge bench --suite NAME` measures.");
  sub.def("check", &check, nb::arg("what"), nb::kw_only(), nb::arg("device") = nb::none(),
          nb::arg("shapes") = nb::none(), nb::arg("dtypes") = nb::none(),
          nb::arg("variants") = std::vector<std::string>(), nb::arg("options") = nb::none(),
          nb::arg("quick") = false, nb::arg("seed") = 1,
          nb::sig("def check(what: object, *, device: str | None = None, shapes: object = None, dtypes: "
                  "object = None, variants: "
                  "collections.abc.Sequence[str] = [], options: dict[str, object] | None = None, quick: bool "
                  "= False, seed: int = 1) -> dict[str, typing.Any]"),
          "An op by name, a kernel file or a candidate, against its reference over shapes, dtypes, variants "
          "and hard contents.");
  sub.def("bench", &bench, nb::arg("what"), nb::kw_only(), nb::arg("device") = nb::none(),
          nb::arg("shape") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("variant") = "",
          nb::arg("options") = nb::none(), nb::arg("seconds") = 1.0, nb::arg("repetitions") = 8,
          nb::arg("method") = "graph",
          nb::sig("def bench(what: object, *, device: str | None = None, shape: object = None, dtype: object "
                  "= None, variant: str = '', "
                  "options: dict[str, object] | None = None, seconds: float = 1.0, repetitions: int = 8, "
                  "method: str = 'graph') -> dict[str, typing.Any]"),
          "Verified first, then measured; counted instead where the device is the simulator.");
  sub.def(
      "tune", &tune, nb::arg("what"), nb::kw_only(), nb::arg("device") = nb::none(),
      nb::arg("shape") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("variant") = "",
      nb::arg("options") = nb::none(), nb::arg("seconds") = nb::none(), nb::arg("keep") = true,
      nb::sig(
          "def tune(what: object, *, device: str | None = None, shape: object = None, dtype: object = None, "
          "variant: str = '', "
          "options: dict[str, object] | None = None, seconds: float | None = None, keep: bool = True) -> "
          "dict[str, typing.Any]"),
      "Which of an op's configurations is fastest. What it finds is kept beside the command's (`gpuforge "
      "tune`), and Python programs and the command choose by it when they start.");
}

}  // namespace gpuforge::python
