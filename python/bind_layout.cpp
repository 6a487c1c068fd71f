// The algebra of layouts, through its own language: every function of it, and expressions.
#include "gpuforge/layout/expression.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

using layout::Value;

// Numbers and tuples as Python's; what is a layout or unknown stays a Value.
nb::object python_value(const Value& value);

nb::object python_tuple(const layout::IntTuple& tuple) {
  const std::string text = layout::to_text(Value{tuple});
  if (text.find_first_not_of("0123456789,()- ") != std::string::npos) return nb::cast(Value{tuple});
  return nb::module_::import_("ast").attr("literal_eval")(text);
}

nb::object python_value(const Value& value) {
  if (const auto* const tuple = std::get_if<layout::IntTuple>(&value.is)) return python_tuple(*tuple);
  if (const auto* const truth = std::get_if<bool>(&value.is)) return nb::cast(*truth);
  if (const auto* const values = std::get_if<Value::Values>(&value.is)) {
    nb::list list;
    for (const Value& each : *values) list.append(python_value(each));
    return nb::tuple(list);
  }
  return nb::cast(value);
}

// A value, or what is written in the language: 4, (2, 3), "(4,8):(8,1)".
std::string text_of(nb::handle value) {
  if (nb::isinstance<Value>(value)) return layout::to_text(nb::cast<const Value&>(value));
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (value.is_none() || value.ptr() == Py_Ellipsis) return "_";
  if (nb::isinstance<nb::tuple>(value) || nb::isinstance<nb::list>(value)) {
    std::string text;
    for (const nb::handle item : value) text += (text.empty() ? "" : ",") + text_of(item);
    return "(" + text + ")";
  }
  return nb::cast<std::string>(nb::str(value));
}

nb::object evaluate(const std::string& text, const nb::kwargs& names) {
  layout::Bindings bindings;
  for (const auto& [key, value] : names) {
    bindings.emplace(nb::cast<std::string>(key), nb::isinstance<Value>(value)
                                                     ? nb::cast<const Value&>(value)
                                                     : layout::evaluate(text_of(value)));
  }
  return python_value(layout::evaluate(text, bindings));
}

nb::object call(const std::string& name, const nb::args& arguments) {
  layout::Bindings bindings;
  std::string text = name + "(";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    text += i > 0 ? ", " : "";
    if (nb::isinstance<Value>(arguments[i])) {  // by name: a swizzle's text is not always an operand's
      const std::string bound = format_text("argument_{}", i);
      bindings.emplace(bound, nb::cast<const Value&>(arguments[i]));
      text += bound;
    } else {
      text += text_of(arguments[i]);
    }
  }
  return python_value(layout::evaluate(text + ")", bindings));
}

}  // namespace

void bind_layout(nb::module_& m) {
  nb::module_ sub = m.def_submodule("layout", "The algebra of layouts, as CuTe has it.");
  nb::class_<Value>(
      sub, "Layout",
      "A layout (or a swizzle, or unknown numbers): shape:stride, a function from coordinates to indices.")
      .def(
          "__init__",
          [](Value* self, nb::handle shape, nb::handle stride) {
            const std::string text =
                stride.is_none() ? text_of(shape) : text_of(shape) + ":" + text_of(stride);
            const bool makes = stride.is_none() && !nb::isinstance<nb::str>(shape);
            new (self) Value(layout::evaluate(makes ? "make_layout(" + text + ")" : text));
          },
          nb::arg("shape"), nb::arg("stride") = nb::none(),
          nb::sig("def __init__(self, shape: object, stride: object = None) -> None"))
      .def(
          "__call__",
          [](const Value& self, const nb::args& coordinate) {
            layout::Bindings bindings{{"A", self}};
            std::string text;
            for (const nb::handle each : coordinate) text += (text.empty() ? "" : ",") + text_of(each);
            return python_value(layout::evaluate("A(" + text + ")", bindings));
          },
          nb::sig("def __call__(self, *coordinate: object) -> typing.Any"),
          "The index of a coordinate; with None in it, a slice.")
      .def_prop_ro(
          "shape",
          [](const Value& self) {
            return python_value(layout::evaluate("shape(A)", {{"A", self}}));
          },
          nb::sig("def shape(self) -> typing.Any"))
      .def_prop_ro(
          "stride",
          [](const Value& self) {
            return python_value(layout::evaluate("stride(A)", {{"A", self}}));
          },
          nb::sig("def stride(self) -> typing.Any"))
      .def("__str__", [](const Value& self) { return layout::to_text(self); })
      .def("__repr__", [](const Value& self) { return format_text("Layout('{}')", layout::to_text(self)); })
      .def(
          "__eq__",
          [](const Value& self, nb::handle other) {
            if (!nb::isinstance<Value>(other) && !nb::isinstance<nb::str>(other)) return false;
            return layout::to_text(self) == layout::to_text(layout::evaluate(text_of(other)));
          },
          nb::arg("other"), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Value& self) { return std::hash<std::string>()(layout::to_text(self)); });
  sub.def("evaluate", &evaluate, nb::sig("def evaluate(text: str, **names: object) -> typing.Any"),
          "An expression of the language; keywords are what its names stand for.\n\n"
          ">>> gf.layout.evaluate('composition(A, 4:2)', A=gf.layout.Layout((8, 4), (1, 8)))\nLayout('4:2')");
  std::vector<std::string> names;
  for (const layout::FunctionGroup& group : layout::functions()) {
    for (const layout::Function& function : group.functions) {
      const std::string name(function.name);
      if (name == "evaluate") continue;
      sub.def(
          name.c_str(), [name](const nb::args& arguments) { return call(name, arguments); },
          format_text("{}({}): {}", name, function.parameters, function.meaning).c_str(),
          nb::sig(format_text("def {}(*arguments: object) -> typing.Any", name).c_str()));
      names.push_back(name);
    }
  }
  sub.def(
      "functions", [names] { return names; }, "The names of all functions of the algebra.");
}

}  // namespace gpuforge::python
