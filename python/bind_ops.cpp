// What arrays compute: the table of elementwise functions, operators, reductions, matmul, softmax.
#include <array>

#include "gpuforge/ops/elementwise/elementwise.h"
#include "gpuforge/ops/matmul/matmul.h"
#include "gpuforge/ops/reductions/reductions.h"
#include "gpuforge/ops/softmax_online/softmax_online.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

// Nothing for what is neither an array nor a number.
std::optional<ops::Operand> operand_from(nb::handle value) {
  if (nb::isinstance<Array>(value)) return ops::Operand(nb::cast<const Array&>(value));
  if (PyBool_Check(value.ptr())) return ops::Operand(value.ptr() == Py_True);
  if (PyLong_Check(value.ptr())) return ops::Operand(nb::cast<std::int64_t>(value));
  if (PyFloat_Check(value.ptr())) return ops::Operand(PyFloat_AsDouble(value.ptr()));
  // A scalar of NumPy is an array without axes, whose dtype counts.
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "item") && nb::hasattr(value, "ndim") &&
      nb::cast<int>(value.attr("ndim")) == 0)
    return operand_from(value.attr("item")());
  return std::nullopt;
}

Array* out_from(nb::handle out) {
  if (out.is_none()) return nullptr;
  if (!nb::isinstance<Array>(out)) throw nb::type_error("out: an array was expected");
  return nb::inst_ptr<Array>(out);
}

std::shared_ptr<device::Stream> stream_among(std::span<const ops::Operand> operands, const Array* out,
                                             nb::handle stream) {
  for (const ops::Operand& operand : operands) {
    if (const auto* const array = std::get_if<Array>(&operand)) return stream_for(*array, stream);
  }
  if (out != nullptr) return stream_for(*out, stream);
  throw nb::type_error("an array was expected among the operands");
}

Array apply(const ops::Function& function, std::span<const ops::Operand> operands, Array* out,
            nb::handle stream) {
  const auto on = stream_among(operands, out, stream);
  ops::ApplyOptions options;
  options.out = out;
  return released([&] { return ops::apply(function, operands, options, *on); });
}

nb::object call(const ops::Function& function, std::span<const nb::handle> values, nb::handle out,
                nb::handle stream) {
  if (has_expression(values)) return call_expression(function.name, values);
  std::vector<ops::Operand> operands;
  for (const nb::handle value : values) {
    auto operand = operand_from(value);
    if (!operand) {
      throw nb::type_error(
          format_text("{}: arrays of gpuforge and numbers were expected, got {}; gf.asarray makes one of it",
                      function.name, nb::cast<std::string>(value.type().attr("__name__")))
              .c_str());
    }
    operands.push_back(std::move(*operand));
  }
  Array* const into = out_from(out);
  Array result = apply(function, operands, into, stream);
  return into != nullptr ? nb::borrow(out) : nb::cast(std::move(result));
}

std::string doc_of(const ops::Function& function) {
  return format_text("{}. Broadcasts; `out` is written instead of a new array.", function.summary);
}

void bind_function(nb::module_& m, const ops::Function& function, std::string_view name) {
  const std::string doc = doc_of(function);
  const std::string called(name);
  const ops::Function* const f = &function;
  const char* const rest = "*, out: Array | None = None, stream: object = None) -> Array";
  if (function.arity == 1) {
    m.def(
        called.c_str(),
        [f](nb::handle a, nb::handle out, nb::handle stream) { return call(*f, std::array{a}, out, stream); },
        nb::arg("a"), nb::kw_only(), nb::arg("out") = nb::none(), nb::arg("stream") = nb::none(),
        nb::sig(format_text("def {}(a: object, {}", called, rest).c_str()), doc.c_str());
  } else if (function.arity == 2) {
    m.def(
        called.c_str(),
        [f](nb::handle a, nb::handle b, nb::handle out, nb::handle stream) {
          return call(*f, std::array{a, b}, out, stream);
        },
        nb::arg("a"), nb::arg("b"), nb::kw_only(), nb::arg("out") = nb::none(),
        nb::arg("stream") = nb::none(),
        nb::sig(format_text("def {}(a: object, b: object, {}", called, rest).c_str()), doc.c_str());
  } else {
    m.def(
        called.c_str(),
        [f](nb::handle a, nb::handle b, nb::handle c, nb::handle out, nb::handle stream) {
          return call(*f, std::array{a, b, c}, out, stream);
        },
        nb::arg("a"), nb::arg("b"), nb::arg("c"), nb::kw_only(), nb::arg("out") = nb::none(),
        nb::arg("stream") = nb::none(),
        nb::sig(format_text("def {}(a: object, b: object, c: object, {}", called, rest).c_str()),
        doc.c_str());
  }
}

struct Operator {
  const char* function;
  const char* method;
  const char* reflected;  // may be null
  const char* in_place;   // may be null
};
constexpr std::array kOperators = {
    Operator{"add", "__add__", "__radd__", "__iadd__"},
    Operator{"sub", "__sub__", "__rsub__", "__isub__"},
    Operator{"mul", "__mul__", "__rmul__", "__imul__"},
    Operator{"div", "__truediv__", "__rtruediv__", "__itruediv__"},
    Operator{"floor_div", "__floordiv__", "__rfloordiv__", "__ifloordiv__"},
    Operator{"mod", "__mod__", "__rmod__", "__imod__"},
    Operator{"bitwise_and", "__and__", "__rand__", "__iand__"},
    Operator{"bitwise_or", "__or__", "__ror__", "__ior__"},
    Operator{"bitwise_xor", "__xor__", "__rxor__", "__ixor__"},
    Operator{"eq", "__eq__", nullptr, nullptr},
    Operator{"ne", "__ne__", nullptr, nullptr},
    Operator{"lt", "__lt__", nullptr, nullptr},
    Operator{"le", "__le__", nullptr, nullptr},
    Operator{"gt", "__gt__", nullptr, nullptr},
    Operator{"ge", "__ge__", nullptr, nullptr},
};

// NotImplemented for what is neither an array nor a number, so that Python asks the other side.
nb::object operate(const ops::Function& function, nb::handle left, nb::handle right, nb::handle out) {
  const auto a = operand_from(left);
  const auto b = operand_from(right);
  if (!a || !b) return nb::borrow(Py_NotImplemented);
  const ops::Operand operands[] = {*a, *b};
  Array* const into = out_from(out);
  Array result = apply(function, operands, into, nb::none());
  return into != nullptr ? nb::borrow(out) : nb::cast(std::move(result));
}

void bind_operators(nb::class_<Array>& array) {
  for (const Operator& each : kOperators) {
    const ops::Function* const f = &ops::find_function(each.function);
    array.def(
        each.method, [f](nb::handle self, nb::handle other) { return operate(*f, self, other, nb::none()); },
        nb::arg("other").none(),
        nb::sig(format_text("def {}(self, other: object, /) -> Array", each.method).c_str()));
    if (each.reflected != nullptr) {
      array.def(
          each.reflected,
          [f](nb::handle self, nb::handle other) { return operate(*f, other, self, nb::none()); },
          nb::arg("other").none(),
          nb::sig(format_text("def {}(self, other: object, /) -> Array", each.reflected).c_str()));
    }
    if (each.in_place != nullptr) {
      array.def(
          each.in_place, [f](nb::handle self, nb::handle other) { return operate(*f, self, other, self); },
          nb::arg("other").none(),
          nb::sig(format_text("def {}(self, other: object, /) -> Array", each.in_place).c_str()));
    }
  }
  const ops::Function* const power = &ops::find_function("pow");
  array.def(
      "__pow__",
      [power](nb::handle self, nb::handle other, nb::handle) {
        return operate(*power, self, other, nb::none());
      },
      nb::arg("other"), nb::arg("modulo") = nb::none(),
      nb::sig("def __pow__(self, other: object, modulo: None = None, /) -> Array"));
  array.def(
      "__rpow__",
      [power](nb::handle self, nb::handle other, nb::handle) {
        return operate(*power, other, self, nb::none());
      },
      nb::arg("other"), nb::arg("modulo") = nb::none(),
      nb::sig("def __rpow__(self, other: object, modulo: None = None, /) -> Array"));
  for (const auto& [method, name] :
       {std::pair{"__neg__", "neg"}, std::pair{"__abs__", "abs"}, std::pair{"__invert__", "bitwise_not"}}) {
    const ops::Function* const f = &ops::find_function(name);
    array.def(
        method, [f](nb::handle self) { return call(*f, std::array{self}, nb::none(), nb::none()); },
        nb::sig(format_text("def {}(self) -> Array", method).c_str()));
  }
  array.def("__pos__", [](const Array& self) { return self; });
  array.attr("__array_ufunc__") = nb::none();  // NumPy leaves operators to us
  array.attr("__hash__") = nb::none();         // == compares elements
}

Array reduce(ops::Reduction reduction, const Array& x, nb::handle axis, bool keepdims, nb::handle out,
             nb::handle stream) {
  ops::ReductionOptions options;
  options.keepdims = keepdims;
  options.out = out_from(out);
  std::optional<Dims> axes;
  if (!axis.is_none()) axes = dims_from(axis, "axis");
  const auto on = stream_for(x, stream);
  return released([&] {
    std::optional<std::span<const std::int64_t>> list;
    if (axes) list = std::span<const std::int64_t>(axes->begin(), axes->size());
    return ops::reduce_axes(reduction, x, list, options, *on);
  });
}

constexpr ops::Reduction kReductions[] = {
    ops::Reduction::sum, ops::Reduction::mean,   ops::Reduction::prod,
    ops::Reduction::max, ops::Reduction::min,    ops::Reduction::any,
    ops::Reduction::all, ops::Reduction::argmax, ops::Reduction::argmin};

void bind_reductions(nb::module_& m, nb::class_<Array>& array) {
  for (const ops::Reduction reduction : kReductions) {
    const std::string name(ops::name(reduction));
    const std::string rest =
        "axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False, *, out: Array | "
        "None = None, stream: object = "
        "None) -> Array";
    const auto function = [reduction](const Array& x, nb::handle axis, bool keepdims, nb::handle out,
                                      nb::handle stream) {
      return reduce(reduction, x, axis, keepdims, out, stream);
    };
    m.def(name.c_str(), function, nb::arg("x"), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
          nb::kw_only(), nb::arg("out") = nb::none(), nb::arg("stream") = nb::none(),
          nb::sig(format_text("def {}(x: Array, {}", name, rest).c_str()));
    array.def(name.c_str(), function, nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
              nb::kw_only(), nb::arg("out") = nb::none(), nb::arg("stream") = nb::none(),
              nb::sig(format_text("def {}(self, {}", name, rest).c_str()));
  }
}

Array matmul(const Array& a, const Array& b, nb::handle out, nb::handle stream) {
  ops::MatmulOptions options;
  options.out = out_from(out);
  const auto on = stream_for(a, stream);
  return released([&] { return ops::matmul(a, b, options, *on); });
}

}  // namespace

void bind_ops(nb::module_& m) {
  auto array = nb::borrow<nb::class_<Array>>(m.attr("Array"));
  for (const ops::Function& function : ops::functions()) {
    bind_function(m, function, function.name);
    if (!function.alias.empty()) bind_function(m, function, function.alias);
  }
  bind_operators(array);
  bind_reductions(m, array);
  m.def(
      "matmul", &matmul, nb::arg("a"), nb::arg("b"), nb::kw_only(), nb::arg("out") = nb::none(),
      nb::arg("stream") = nb::none(),
      nb::sig("def matmul(a: Array, b: Array, *, out: Array | None = None, stream: object = None) -> Array"),
      "NumPy's matmul.\n\n>>> (gf.ones((2, 3), device='cpu') @ gf.ones(3, device='cpu')).tolist()\n[3.0, "
      "3.0]");
  array.def(
      "__matmul__",
      [](const Array& self, nb::handle other) -> nb::object {
        if (!nb::isinstance<Array>(other)) return nb::borrow(Py_NotImplemented);
        return nb::cast(matmul(self, nb::cast<const Array&>(other), nb::none(), nb::none()));
      },
      nb::arg("other"), nb::sig("def __matmul__(self, other: Array, /) -> Array"));
  m.def(
      "softmax",
      [](const Array& x, std::int64_t axis, nb::handle stream) {
        const auto on = stream_for(x, stream);
        ops::SoftmaxOnlineOptions options;
        options.dim = axis;
        return released([&] { return ops::softmax_online(x, options, *on); });
      },
      nb::arg("x"), nb::arg("axis") = -1, nb::kw_only(), nb::arg("stream") = nb::none(),
      nb::sig("def softmax(x: Array, axis: int = -1, *, stream: object = None) -> Array"),
      "Of float16, bfloat16 or float32.");
  m.def(
      "transpose",
      [](const Array& x, nb::handle axes) {
        return axes.is_none() ? x.transpose() : x.transpose(dims_from(axes, "axes"));
      },
      nb::arg("x"), nb::arg("axes") = nb::none(),
      nb::sig("def transpose(x: Array, axes: collections.abc.Sequence[int] | None = None) -> Array"),
      "A view.");
  m.def(
      "reshape", [](nb::handle x, nb::handle shape) { return x.attr("reshape")(shape); }, nb::arg("x"),
      nb::arg("shape"),
      nb::sig("def reshape(x: Array, shape: int | collections.abc.Sequence[int]) -> Array"));
  m.def(
      "broadcast_to",
      [](const Array& x, nb::handle shape) { return x.broadcast_to(dims_from(shape, "shape")); },
      nb::arg("x"), nb::arg("shape"),
      nb::sig("def broadcast_to(x: Array, shape: int | collections.abc.Sequence[int]) -> Array"), "A view.");
}

}  // namespace gpuforge::python
