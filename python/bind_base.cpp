// Errors, dtypes, the session, messages.
#include "gpuforge/base/dtype.h"
#include "gpuforge/base/version.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

// gpuforge._errors has the table from codes to exception classes.
void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    try {
      const nb::object table = nb::module_::import_("gpuforge._errors").attr("BY_CODE");
      const std::string code(name(error.code()));
      const nb::object type = table[code.c_str()];
      nb::object value = type(error.message());
      value.attr("code") = code;
      value.attr("detail") = error.detail();
      PyErr_SetObject(type.ptr(), value.ptr());
    } catch (nb::python_error& broken) {
      broken.restore();
    }
  }
}

}  // namespace

const char* python_name(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "float64";
    case DType::f32:
      return "float32";
    case DType::f16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    case DType::f8e4m3:
      return "float8_e4m3fn";
    case DType::f8e5m2:
      return "float8_e5m2";
    case DType::i64:
      return "int64";
    case DType::i32:
      return "int32";
    case DType::i16:
      return "int16";
    case DType::i8:
      return "int8";
    case DType::u8:
      return "uint8";
    case DType::boolean:
      return "bool";
  }
  return "unknown";
}

DType dtype_from(nb::handle value) {
  if (nb::isinstance<ElementType>(value)) return nb::cast<ElementType&>(value).dtype;
  std::string text;
  if (nb::isinstance<nb::str>(value)) {
    text = nb::cast<std::string>(value);
  } else if (value.is(nb::handle(reinterpret_cast<PyObject*>(&PyFloat_Type)))) {
    return DType::f32;
  } else if (value.is(nb::handle(reinterpret_cast<PyObject*>(&PyBool_Type)))) {
    return DType::boolean;
  } else if (value.is(nb::handle(reinterpret_cast<PyObject*>(&PyLong_Type)))) {
    return DType::i64;
  } else if (nb::hasattr(value, "name") && nb::isinstance<nb::str>(value.attr("name"))) {
    text = nb::cast<std::string>(value.attr("name"));  // numpy.dtype
  } else if (nb::hasattr(value, "__name__")) {
    text = nb::cast<std::string>(value.attr("__name__"));  // numpy.float32
  } else {
    text = nb::cast<std::string>(nb::str(value));  // torch.float32
    if (text.rfind("torch.", 0) == 0) text.erase(0, 6);
  }
  if (text == "bool_") text = "bool";
  if (const auto dtype = parse_dtype(text)) return *dtype;
  std::string known;
  for (const DType dtype : kAllDTypes) known += std::string(known.empty() ? "" : ", ") + python_name(dtype);
  throw nb::type_error(format_text("'{}' is not a dtype of gpuforge; known are {}", text, known).c_str());
}

std::optional<DType> dtype_or_none(nb::handle value) {
  if (!value.is_valid() || value.is_none()) return std::nullopt;
  return dtype_from(value);
}

nb::object json_value(const Json& json) {
  return nb::module_::import_("json").attr("loads")(json.dump());
}

void pass_on_messages() {
  const nb::error_scope keep;  // an exception under way stays as it is
  try {
    const nb::object logger = nb::module_::import_("logging").attr("getLogger")("gpuforge");
    for (const auto& [level, text] : session().take_messages()) {
      logger.attr(std::string(name(level)).c_str())("%s", text);
    }
  } catch (const nb::python_error&) {  // a handler that fails must not stop the work
  }
}

void bind_base(nb::module_& m) {
  nb::register_exception_translator(translate);
  m.def("version", [] { return std::string(version()); });

  nb::class_<ElementType>(m, "DType",
                          "The type of an array's elements. Equal to its names and to NumPy's dtype.")
      .def(
          "__init__", [](ElementType* self, nb::handle value) { new (self) ElementType{dtype_from(value)}; },
          nb::arg("value"), nb::sig("def __init__(self, value: object) -> None"))
      .def_prop_ro("name", [](ElementType self) { return python_name(self.dtype); })
      .def_prop_ro("short_name", [](ElementType self) { return std::string(name(self.dtype)); })
      .def_prop_ro("itemsize", [](ElementType self) { return element_bytes(self.dtype); })
      .def_prop_ro("is_floating", [](ElementType self) { return is_floating(self.dtype); })
      .def_prop_ro(
          "numpy", [](ElementType self) { return numpy_dtype(self.dtype); },
          "The NumPy dtype; bfloat16 and fp8 are those of ml_dtypes.")
      .def("__repr__", [](ElementType self) { return format_text("gpuforge.{}", python_name(self.dtype)); })
      .def("__str__", [](ElementType self) { return python_name(self.dtype); })
      .def("__hash__", [](ElementType self) { return static_cast<int>(self.dtype); })
      .def(
          "__eq__",
          [](ElementType self, nb::handle other) {
            try {
              return dtype_from(other) == self.dtype;
            } catch (const nb::builtin_exception&) {
              return false;
            } catch (const nb::python_error&) {
              return false;
            }
          },
          nb::arg().none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "__ne__",
          [](nb::handle self, nb::handle other) { return !nb::cast<bool>(self.attr("__eq__")(other)); },
          nb::arg().none(), nb::sig("def __ne__(self, other: object, /) -> bool"))
      .def(
          "__reduce__",
          [](ElementType self) {
            return nb::make_tuple(nb::type<ElementType>(), nb::make_tuple(python_name(self.dtype)));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  for (const DType each : kAllDTypes) {
    const std::string attribute = each == DType::boolean ? "bool_" : python_name(each);
    m.attr(attribute.c_str()) = nb::cast(ElementType{each});
  }
  m.def(
      "dtype", [](nb::handle value) { return ElementType{dtype_from(value)}; }, nb::arg("value"),
      nb::sig("def dtype(value: object) -> DType"),
      "The dtype that a name, a NumPy dtype or a Python type stands for.\n\n"
      ">>> gf.dtype('bfloat16').itemsize\n2");

  const nb::object sys = nb::module_::import_("sys");
  const nb::object executable = sys.attr("executable");
  const std::filesystem::path python =
      executable.is_none() ? std::string() : nb::cast<std::string>(executable);
  start_session(nb::cast<std::string>(m.attr("__spec__").attr("origin")), python.parent_path());
  m.def("_close", [] { released([] { session().close(); }); });
  m.def("_take_messages", [] { pass_on_messages(); });
}

}  // namespace gpuforge::python
