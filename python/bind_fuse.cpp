// Functions of elementwise calls as one kernel: gf.fuse calls them once with expressions.
#include <array>

#include "gpuforge/ops/elementwise/fuse.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

using ops::Expression;

std::optional<Expression> expression_from(nb::handle value) {
  if (nb::isinstance<Expression>(value)) return nb::cast<const Expression&>(value);
  if (PyBool_Check(value.ptr())) return Expression(value.ptr() == Py_True);
  if (PyLong_Check(value.ptr())) return Expression(nb::cast<std::int64_t>(value));
  if (PyFloat_Check(value.ptr())) return Expression(PyFloat_AsDouble(value.ptr()));
  return std::nullopt;
}

struct PythonFused {
  ops::Fused fused;
};

std::vector<ops::Operand> operands_from(const nb::args& arguments) {
  std::vector<ops::Operand> operands;
  for (const nb::handle value : arguments) {
    if (nb::isinstance<Array>(value))
      operands.emplace_back(nb::cast<const Array&>(value));
    else if (PyBool_Check(value.ptr()))
      operands.emplace_back(value.ptr() == Py_True);
    else if (PyLong_Check(value.ptr()))
      operands.emplace_back(nb::cast<std::int64_t>(value));
    else
      operands.emplace_back(nb::cast<double>(value));
  }
  return operands;
}

nb::object run(PythonFused& self, const nb::args& arguments, const nb::kwargs& keywords) {
  const std::vector<ops::Operand> operands = operands_from(arguments);
  nb::object out = nb::none();
  nb::object stream = nb::none();
  for (const auto& [key, value] : keywords) {
    const std::string name = nb::cast<std::string>(key);
    if (name != "out" && name != "stream") throw nb::type_error("fuse: the keywords are out and stream");
    (name == "out" ? out : stream) = nb::borrow(value);
  }
  ops::ApplyOptions options;
  if (!out.is_none()) options.out = nb::inst_ptr<Array>(out);
  const Array* where = options.out;
  for (const ops::Operand& operand : operands) {
    if (const auto* const array = std::get_if<Array>(&operand)) where = where == nullptr ? array : where;
  }
  if (where == nullptr) throw nb::type_error("fuse: an array was expected among the arguments");
  const auto on = stream_for(*where, stream);
  Array result = released([&] { return self.fused(operands, options, *on); });
  return out.is_none() ? nb::cast(std::move(result)) : out;
}

struct Operator {
  const char* function;
  const char* method;
  const char* reflected;
};
constexpr std::array kOperators = {
    Operator{"add", "__add__", "__radd__"},
    Operator{"sub", "__sub__", "__rsub__"},
    Operator{"mul", "__mul__", "__rmul__"},
    Operator{"div", "__truediv__", "__rtruediv__"},
    Operator{"mod", "__mod__", "__rmod__"},
    Operator{"floor_div", "__floordiv__", "__rfloordiv__"},
    Operator{"bitwise_and", "__and__", "__rand__"},
    Operator{"bitwise_or", "__or__", "__ror__"},
    Operator{"pow", "__pow__", "__rpow__"},
    Operator{"lt", "__lt__", nullptr},
    Operator{"le", "__le__", nullptr},
    Operator{"gt", "__gt__", nullptr},
    Operator{"ge", "__ge__", nullptr},
};

nb::object operate(const char* function, nb::handle left, nb::handle right) {
  const nb::object made = call_expression(function, std::array{left, right});
  return made.is_valid() ? made : nb::borrow(Py_NotImplemented);
}

}  // namespace

bool has_expression(std::span<const nb::handle> values) {
  for (const nb::handle value : values) {
    if (nb::isinstance<Expression>(value)) return true;
  }
  return false;
}

nb::object call_expression(std::string_view function, std::span<const nb::handle> values) {
  std::vector<Expression> operands;
  for (const nb::handle value : values) {
    auto operand = expression_from(value);
    if (!operand) return {};
    operands.push_back(std::move(*operand));
  }
  return nb::cast(ops::call(function, operands));
}

void bind_fuse(nb::module_& m) {
  nb::class_<Expression> expression(m, "Expression",
                                    "What a function that is fused computes with instead of arrays.");
  expression.def("__repr__", [](const Expression& self) { return self.text(); });
  for (const Operator& each : kOperators) {
    const char* const f = each.function;
    expression.def(
        each.method, [f](nb::handle self, nb::handle other) { return operate(f, self, other); },
        nb::arg("other"),
        nb::sig(format_text("def {}(self, other: object, /) -> Expression", each.method).c_str()));
    if (each.reflected != nullptr) {
      expression.def(
          each.reflected, [f](nb::handle self, nb::handle other) { return operate(f, other, self); },
          nb::arg("other"),
          nb::sig(format_text("def {}(self, other: object, /) -> Expression", each.reflected).c_str()));
    }
  }
  expression.def(
      "__neg__", [](nb::handle self) { return call_expression("neg", std::array{self}); },
      nb::sig("def __neg__(self) -> Expression"));
  nb::class_<PythonFused>(m, "Fused",
                          "Elementwise calls as one kernel. Call it as the function it was made of.")
      .def("__call__", &run,
           nb::sig("def __call__(self, *arguments: object, out: Array | None = None, stream: object = None) "
                   "-> Array"))
      .def(
          "source",
          [](PythonFused& self, const nb::args& arguments) {
            std::vector<ops::OperandType> types;
            for (const ops::Operand& operand : operands_from(arguments))
              types.push_back(ops::type_of(operand));
            return self.fused.source(types);
          },
          nb::sig("def source(self, *arguments: object) -> str"),
          "The kernel's body for such arguments, to read.")
      .def("__repr__",
           [](PythonFused& self) { return format_text("Fused({})", self.fused.expression().text()); });
  m.def(
      "_argument", [](std::size_t index) { return Expression::argument(index); }, nb::arg("index"));
  m.def(
      "_fused",
      [](nb::handle result, std::size_t arguments) {
        const auto made = expression_from(result);
        if (!made)
          throw nb::type_error(
              "fuse: a function of elementwise calls alone was expected, that returns their result");
        return PythonFused{ops::Fused(*made, arguments)};
      },
      nb::arg("result"), nb::arg("arguments"));
}

}  // namespace gpuforge::python
