// Between Python's values and ours.
#include <algorithm>
#include <cmath>

#include "gpuforge/base/convert.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

nb::module_ numpy() {
  return nb::module_::import_("numpy");
}

std::int64_t integer_from(nb::handle value, const char* what) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    throw nb::type_error(format_text("{}: an integer was expected, got {}", what,
                                     nb::cast<std::string>(nb::str(value.type().attr("__name__"))))
                             .c_str());
  }
  return nb::cast<std::int64_t>(index);
}

// The memory of a NumPy array through __array_interface__, which arrays of ml_dtypes have as well.
std::span<std::byte> memory_of(nb::handle array) {
  const nb::object interface = array.attr("__array_interface__");
  const auto address = nb::cast<std::uintptr_t>(interface["data"][0]);
  return {reinterpret_cast<std::byte*>(address), nb::cast<std::size_t>(array.attr("nbytes"))};
}

}  // namespace

Dims dims_from(nb::handle value, const char* what) {
  Dims dims;
  if (PyIndex_Check(value.ptr())) {
    dims.push_back(integer_from(value, what));
    return dims;
  }
  if (!nb::isinstance<nb::sequence>(value)) {
    throw nb::type_error(format_text("{}: an integer or a tuple of integers was expected, got {}", what,
                                     nb::cast<std::string>(nb::str(value.type().attr("__name__"))))
                             .c_str());
  }
  for (const nb::handle item : value) dims.push_back(integer_from(item, what));
  return dims;
}

nb::tuple tuple_from(const Dims& dims) {
  nb::list list;
  for (const std::int64_t extent : dims) list.append(extent);
  return nb::tuple(list);
}

nb::tuple byte_strides(const Array& array) {
  nb::list list;
  const auto bytes = static_cast<std::int64_t>(element_bytes(array.dtype()));
  for (const std::int64_t stride : array.strides()) list.append(stride * bytes);
  return nb::tuple(list);
}

nb::object numpy_dtype(DType dtype) {
  const bool narrow = dtype == DType::bf16 || dtype == DType::f8e4m3 || dtype == DType::f8e5m2;
  if (!narrow) return numpy().attr("dtype")(python_name(dtype));
  nb::object ml_dtypes;
  try {
    ml_dtypes = nb::module_::import_("ml_dtypes");
  } catch (const nb::python_error&) {
    throw Error(ErrorCode::unavailable,
                format_text("NumPy itself has no {}: pip install ml_dtypes, or convert first: "
                            "x.astype('float32').to_numpy()",
                            python_name(dtype)));
  }
  return numpy().attr("dtype")(ml_dtypes.attr(python_name(dtype)));
}

nb::object to_numpy(const Array& array, device::Stream& stream) {
  nb::object out =
      numpy().attr("empty")(tuple_from(array.shape()), nb::arg("dtype") = numpy_dtype(array.dtype()));
  const std::span<std::byte> memory = memory_of(out);
  released([&] { array.to_host(memory, stream); });
  return out;
}

bool is_scalar(nb::handle value) {
  return PyBool_Check(value.ptr()) || PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr());
}

Array from_python(nb::handle value, std::optional<DType> dtype, const Place& place) {
  const nb::module_ np = numpy();
  const bool is_array =
      nb::isinstance(value, np.attr("ndarray")) || nb::isinstance(value, np.attr("generic"));
  nb::object array = np.attr("asarray")(value);
  const nb::object kind = array.attr("dtype");
  if (nb::cast<std::string>(kind.attr("kind")) == "O") {
    throw nb::type_error(
        "array: numbers in a regular nesting were expected; NumPy makes an array of objects of this");
  }
  // Row-major, in this machine's byte order.
  array =
      np.attr("asarray")(array, nb::arg("dtype") = kind.attr("newbyteorder")("="), nb::arg("order") = "C");
  const nb::object unsigned_kind = array.attr("dtype").attr("name");
  const std::string name = nb::cast<std::string>(unsigned_kind);
  const DType given = dtype_from(array.attr("dtype"));
  Shape shape = dims_from(array.attr("shape"), "array");
  const std::span<const std::byte> memory = memory_of(array);
  const bool python_floats = !is_array && given == DType::f64;
  const DType wanted = dtype.value_or(python_floats ? DType::f32 : given);
  return released([&] {
    Array made = from_host(place.context, memory, shape, given, *place.stream);
    return wanted == given ? made : made.astype(wanted, *place.stream);
  });
}

nb::object element_as_python(const void* element, DType dtype) {
  if (dtype == DType::boolean) return nb::cast(load_int64(element, dtype) != 0);
  if (is_integer(dtype)) return nb::cast(load_int64(element, dtype));
  return nb::cast(load_double(element, dtype));
}

Place place_from(nb::handle device_name, nb::handle stream) {
  const bool has_device = device_name.is_valid() && !device_name.is_none();
  const bool has_stream = stream.is_valid() && !stream.is_none();
  if (has_stream && nb::isinstance<device::Stream>(stream)) {
    auto own = nb::cast<std::shared_ptr<device::Stream>>(stream);
    Machine& machine = session().open(own->device().facts().name);
    if (has_device && nb::cast<std::string>(device_name) != own->device().facts().name) {
      throw nb::value_error(format_text("device {} and a stream of {} do not go together",
                                        nb::cast<std::string>(device_name), own->device().facts().name)
                                .c_str());
    }
    return {machine.context, std::move(own)};
  }
  std::optional<std::string> wanted;
  if (has_device) wanted = nb::cast<std::string>(device_name);
  Machine* const machine =
      released([&] { return wanted ? &session().open(*wanted) : &session().open_default(); });
  if (!has_stream) return {machine->context, session().stream_of(*machine->context)};
  // Another library's: a handle, or __cuda_stream__() -> (version, handle).
  nb::object handle = nb::borrow(stream);
  if (nb::hasattr(stream, "__cuda_stream__")) {
    handle = stream.attr("__cuda_stream__")()[1];
  } else if (nb::hasattr(stream, "cuda_stream")) {  // torch.cuda.Stream
    handle = stream.attr("cuda_stream");
  } else if (nb::hasattr(stream, "ptr")) {  // cupy.cuda.Stream
    handle = stream.attr("ptr");
  }
  const auto raw = static_cast<std::uintptr_t>(integer_from(handle, "stream"));
  return {machine->context, machine->context->device().adopt_stream(raw)};
}

std::shared_ptr<device::Stream> stream_for(const Array& array, nb::handle stream) {
  if (!stream.is_valid() || stream.is_none()) return session().stream_of(array.context());
  if (nb::isinstance<device::Stream>(stream)) return nb::cast<std::shared_ptr<device::Stream>>(stream);
  const std::string device_name = array.device().facts().name;
  return place_from(nb::str(device_name.c_str()), stream).stream;
}

}  // namespace gpuforge::python
