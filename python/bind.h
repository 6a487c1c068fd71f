// What the bind_<room>.cpp files share: translating values, and letting go of the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "gpuforge/array/array.h"
#include "gpuforge/base/json.h"
#include "python/session.h"

namespace nb = nanobind;

namespace gpuforge::python {

void bind_base(nb::module_& m);
void bind_device(nb::module_& m);
void bind_array(nb::module_& m);
void bind_ops(nb::module_& m);
void bind_fuse(nb::module_& m);
void bind_jit(nb::module_& m);
void bind_layout(nb::module_& m);
void bind_memory(nb::module_& m);  // and where the time goes
void bind_sched(nb::module_& m);
void bind_lab(nb::module_& m);
void bind_interop(nb::module_& m, nb::class_<Array>& array);
// Ops on torch's tensors.
void bind_torch(nb::module_& m);
// The buffer protocol of arrays on the host.
PyType_Slot* buffer_slots();

// Hands what the library said to Python's logging. With the interpreter's lock.
void pass_on_messages();

// Runs `work` without the interpreter's lock: everything that may wait, compile or open a device.
template <typename Work>
decltype(auto) released(Work&& work) {
  struct PassOn {
    ~PassOn() {
      if (session().has_messages()) pass_on_messages();
    }
  } pass_on;
  const nb::gil_scoped_release release;
  return work();
}

// A dtype as an object of Python's.
struct ElementType {
  DType dtype;
};

// An integer, or a sequence of them.
Dims dims_from(nb::handle value, const char* what);
nb::tuple tuple_from(const Dims& dims);
nb::tuple byte_strides(const Array& array);
// A DType of ours, a name, a NumPy dtype or scalar type, or Python's float, int and bool.
DType dtype_from(nb::handle value);
std::optional<DType> dtype_or_none(nb::handle value);
// As NumPy and torch name it: "float32", "float8_e4m3fn".
const char* python_name(DType dtype);
nb::object json_value(const Json& json);

// Where something happens: given a device's name or None, and a stream (ours, a handle, or an object with
// __cuda_stream__) or None.
struct Place {
  std::shared_ptr<Context> context;
  std::shared_ptr<device::Stream> stream;
};
Place place_from(nb::handle device_name, nb::handle stream);
// For work on the array: on the stream given, or where this thread's work goes.
std::shared_ptr<device::Stream> stream_for(const Array& array, nb::handle stream);

// Of an expression that gf.fuse builds: whether one is among the values, and a call of a function of the
// table with them; not valid when one is neither an expression nor a number.
bool has_expression(std::span<const nb::handle> values);
nb::object call_expression(std::string_view function, std::span<const nb::handle> values);

nb::object to_numpy(const Array& array, device::Stream& stream);
// Copies what NumPy makes of `value` (an array, nested lists, a number). Python's floats are f32 unless a
// dtype is given.
Array from_python(nb::handle value, std::optional<DType> dtype, const Place& place);
bool is_scalar(nb::handle value);
nb::object element_as_python(const void* element, DType dtype);
// What NumPy calls the dtype; bf16 and fp8 are those of ml_dtypes: unavailable without it.
nb::object numpy_dtype(DType dtype);

}  // namespace gpuforge::python
