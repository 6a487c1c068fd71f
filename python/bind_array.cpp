// Arrays: making, looking, indexing, copying. What they compute is bind_ops.cpp.
#include <algorithm>
#include <array>
#include <cmath>

#include "gpuforge/array/indexing.h"
#include "gpuforge/array/shaping.h"
#include "gpuforge/base/convert.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

std::optional<std::int64_t> slice_end(nb::handle value) {
  if (value.is_none()) return std::nullopt;
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  // Beyond 64 bits it is past either end all the same.
  const Py_ssize_t clamped = PyNumber_AsSsize_t(index.ptr(), nullptr);
  return static_cast<std::int64_t>(clamped);
}

IndexItem index_item(nb::handle item) {
  if (item.is_none()) return NewAxis{};
  if (item.ptr() == Py_Ellipsis) return Ellipsis{};
  if (PySlice_Check(item.ptr())) {
    return Slice{slice_end(item.attr("start")), slice_end(item.attr("stop")),
                 slice_end(item.attr("step")).value_or(1)};
  }
  if (!PyBool_Check(item.ptr()) && PyIndex_Check(item.ptr()) && !nb::isinstance<Array>(item)) {
    const nb::object integer = nb::steal(PyNumber_Index(item.ptr()));
    if (integer.is_valid()) return static_cast<std::int64_t>(PyNumber_AsSsize_t(integer.ptr(), nullptr));
    PyErr_Clear();
  }
  throw nb::index_error(
      format_text(
          "integers, slices, ... and None were expected as indices, got {}; for masks and lists of indices "
          "use where, or NumPy",
          nb::cast<std::string>(item.type().attr("__name__")))
          .c_str());
}

Array view_at(const Array& array, nb::handle index) {
  std::vector<IndexItem> items;
  if (nb::isinstance<nb::tuple>(index)) {
    for (const nb::handle item : nb::borrow<nb::tuple>(index)) items.push_back(index_item(item));
  } else {
    items.push_back(index_item(index));
  }
  try {
    return index_view(array, items);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    const nb::object type = nb::module_::import_("gpuforge._errors").attr("InvalidIndexError");
    PyErr_SetString(type.ptr(), error.what());
    throw nb::python_error();
  }
}

// Whether double holds it exactly, as Array::fill takes it.
bool exact_in_double(nb::handle number) {
  if (!PyLong_Check(number.ptr())) return true;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  return overflow == 0 && std::abs(static_cast<double>(value)) <= 0x1p53;
}

void assign(Array view, nb::handle value) {
  const auto stream = session().stream_of(view.context());
  if (is_scalar(value) && exact_in_double(value)) {
    const double number = nb::cast<double>(nb::float_(value));
    released([&] { view.fill(number, *stream); });
  } else if (nb::isinstance<Array>(value)) {
    const Array& source = nb::cast<const Array&>(value);
    released([&] { view.assign(source, *stream); });
  } else {
    const Place place{session().machine_of(view.context()).context, stream};
    const Array source = from_python(value, std::nullopt, place);
    released([&] { view.assign(source, *stream); });
  }
}

nb::object item(const Array& array) {
  if (array.size() != 1) {
    throw nb::value_error(
        format_text("an array with one element was expected, this one has shape {}", to_string(array.shape()))
            .c_str());
  }
  std::array<std::byte, 8> element{};
  const auto stream = session().stream_of(array.context());
  released([&] { array.to_host(std::span(element).first(element_bytes(array.dtype())), *stream); });
  return element_as_python(element.data(), array.dtype());
}

nb::object nested_list(const std::byte*& element, const Array& array, std::size_t axis) {
  if (axis == array.rank()) {
    nb::object value = element_as_python(element, array.dtype());
    element += element_bytes(array.dtype());
    return value;
  }
  nb::list list;
  for (std::int64_t i = 0; i < array.shape()[axis]; ++i) list.append(nested_list(element, array, axis + 1));
  return list;
}

nb::object tolist(const Array& array) {
  std::vector<std::byte> elements(array.bytes());
  const auto stream = session().stream_of(array.context());
  released([&] { array.to_host(elements, *stream); });
  const std::byte* first = elements.data();
  return nested_list(first, array, 0);
}

// (2, 3) or ((2, 3),)
Dims dims_of_args(const nb::args& args, const char* what) {
  if (args.size() == 1) return dims_from(args[0], what);
  return dims_from(args, what);
}

Array to_device(const Array& array, nb::handle device_name, nb::handle stream) {
  const Place place = place_from(device_name, stream);
  if (place.context.get() == &array.context()) return array;
  const auto from = session().stream_of(array.context());
  return released([&] {
    std::vector<std::byte> elements(array.bytes());
    array.to_host(elements, *from);
    return from_host(place.context, elements, array.shape(), array.dtype(), *place.stream);
  });
}

Array reshape(const Array& array, const Shape& shape, std::optional<bool> copy) {
  const Shape resolved = resolve_reshape(array.shape(), shape);
  const bool view = reshape_strides(array.shape(), array.strides(), resolved).has_value();
  if ((view && !copy.value_or(false)) || copy == false) return array.reshape(resolved);
  const auto stream = session().stream_of(array.context());
  return released([&] { return array.copy(*stream).reshape(resolved); });
}

DType default_dtype_of(nb::handle number) {
  if (PyBool_Check(number.ptr())) return DType::boolean;
  return PyLong_Check(number.ptr()) ? DType::i64 : DType::f32;
}

void bind_making(nb::module_& m) {
  const auto make = [&m](const char* name, auto function, const char* doc) {
    const std::string signature = format_text(
        "def {}(shape: int | collections.abc.Sequence[int], dtype: object = 'float32', *, device: str | None "
        "= None, stream: "
        "object = None) -> Array",
        name);
    m.def(
        name,
        [function](nb::handle shape, nb::handle dtype, nb::handle device_name, nb::handle stream) {
          const Place place = place_from(device_name, stream);
          const Shape extents = dims_from(shape, "shape");
          const DType wanted = dtype_or_none(dtype).value_or(DType::f32);
          return released([&] { return function(place, extents, wanted); });
        },
        nb::arg("shape"), nb::arg("dtype") = "float32", nb::kw_only(), nb::arg("device") = nb::none(),
        nb::arg("stream") = nb::none(), nb::sig(signature.c_str()), doc);
  };
  make(
      "empty", [](const Place& p, const Shape& s, DType d) { return empty(p.context, s, d, *p.stream); },
      "An array whose elements are whatever was there.");
  make(
      "zeros", [](const Place& p, const Shape& s, DType d) { return zeros(p.context, s, d, *p.stream); },
      ">>> gf.zeros((2, 2), device='cpu')\narray([[0., 0.],\n       [0., 0.]], dtype=f32, device=cpu)");
  make(
      "ones", [](const Place& p, const Shape& s, DType d) { return ones(p.context, s, d, *p.stream); },
      ">>> gf.ones(3, 'int32', device='cpu')\narray([1, 1, 1], dtype=i32, device=cpu)");

  m.def(
      "full",
      [](nb::handle shape, nb::handle value, nb::handle dtype, nb::handle device_name, nb::handle stream) {
        const Place place = place_from(device_name, stream);
        Array array = empty(place.context, dims_from(shape, "shape"),
                            dtype_or_none(dtype).value_or(default_dtype_of(value)), *place.stream);
        assign(array, value);
        return array;
      },
      nb::arg("shape"), nb::arg("value"), nb::arg("dtype") = nb::none(), nb::kw_only(),
      nb::arg("device") = nb::none(), nb::arg("stream") = nb::none(),
      nb::sig("def full(shape: int | collections.abc.Sequence[int], value: object, dtype: object = None, *, "
              "device: str | None = "
              "None, stream: object = None) -> Array"),
      "Every element is `value`; of its kind unless a dtype is given.");
  m.def(
      "arange",
      [](nb::handle start, nb::handle stop, nb::handle step, nb::handle dtype, nb::handle device_name,
         nb::handle stream) {
        const Place place = place_from(device_name, stream);
        const bool only_stop = stop.is_none();
        const nb::handle parts[] = {start, stop, step};
        const bool integers = std::all_of(std::begin(parts), std::end(parts), [](nb::handle part) {
          return part.is_none() || PyLong_Check(part.ptr());
        });
        const DType wanted = dtype_or_none(dtype).value_or(integers ? DType::i64 : DType::f32);
        const auto number = [](nb::handle value) { return nb::cast<double>(nb::float_(value)); };
        const double from = only_stop ? 0.0 : number(start);
        const double to = only_stop ? number(start) : number(stop);
        const double by = number(step);
        return released([&] { return arange(place.context, from, to, by, wanted, *place.stream); });
      },
      nb::arg("start"), nb::arg("stop") = nb::none(), nb::arg("step") = 1, nb::arg("dtype") = nb::none(),
      nb::kw_only(), nb::arg("device") = nb::none(), nb::arg("stream") = nb::none(),
      nb::sig("def arange(start: float, stop: float | None = None, step: float = 1, dtype: object = None, *, "
              "device: str | "
              "None = None, stream: object = None) -> Array"),
      ">>> gf.arange(3, device='cpu')\narray([0, 1, 2], dtype=i64, device=cpu)");
  const auto copied = [](nb::handle value, nb::handle dtype, nb::handle device_name, nb::handle stream) {
    if (!nb::isinstance<Array>(value))
      return from_python(value, dtype_or_none(dtype), place_from(device_name, stream));
    const Array& array = nb::cast<const Array&>(value);
    const Array there = device_name.is_none() ? array : to_device(array, device_name, stream);
    const auto on = stream_for(there, stream);
    const DType wanted = dtype_or_none(dtype).value_or(array.dtype());
    return released([&] { return wanted == array.dtype() ? there.copy(*on) : there.astype(wanted, *on); });
  };
  m.def("array", copied, nb::arg("value"), nb::arg("dtype") = nb::none(), nb::kw_only(),
        nb::arg("device") = nb::none(), nb::arg("stream") = nb::none(),
        nb::sig("def array(value: object, dtype: object = None, *, device: str | None = None, stream: object "
                "= None) -> Array"),
        "A copy of a NumPy array, an array, nested lists or a number. Python's floats become float32.\n\n"
        ">>> gf.array([[1, 2], [3, 4]], 'bfloat16', device='cpu')\n"
        "array([[1., 2.],\n       [3., 4.]], dtype=bf16, device=cpu)");
  m.def("from_numpy", copied, nb::arg("value"), nb::arg("dtype") = nb::none(), nb::kw_only(),
        nb::arg("device") = nb::none(), nb::arg("stream") = nb::none(),
        nb::sig("def from_numpy(value: object, dtype: object = None, *, device: str | None = None, stream: "
                "object = None) -> "
                "Array"),
        "A copy of a NumPy array on the device.");
}

Array squeezed(const Array& array, nb::handle axis) {
  if (axis.is_none()) return squeeze(array);
  const Dims axes = dims_from(axis, "axis");
  return squeeze(array, std::span<const std::int64_t>(axes.begin(), axes.size()));
}

// concat and stack.
template <typename Function>
Array joined(nb::handle arrays, std::int64_t axis, Function function) {
  std::vector<Array> list;
  for (const nb::handle each : arrays) list.push_back(nb::cast<const Array&>(each));
  if (list.empty()) throw nb::value_error("concat, stack: one array at least was expected");
  const auto on = session().stream_of(list.front().context());
  return released([&] { return function(list, axis, *on); });
}

void bind_shaping(nb::module_& m) {
  const char* const many = "(arrays: collections.abc.Sequence[Array], axis: int = 0) -> Array";
  m.def(
      "concat",
      [](nb::handle arrays, std::int64_t axis) {
        return joined(arrays, axis, [](auto&&... a) { return concat(a...); });
      },
      nb::arg("arrays"), nb::arg("axis") = 0, nb::sig(format_text("def concat{}", many).c_str()));
  m.def(
      "stack",
      [](nb::handle arrays, std::int64_t axis) {
        return joined(arrays, axis, [](auto&&... a) { return stack(a...); });
      },
      nb::arg("arrays"), nb::arg("axis") = 0, nb::sig(format_text("def stack{}", many).c_str()));
  m.def("squeeze", &squeezed, nb::arg("x"), nb::arg("axis") = nb::none(),
        nb::sig("def squeeze(x: Array, axis: int | collections.abc.Sequence[int] | None = None) -> Array"),
        "A view.");
  m.def(
      "expand_dims",
      [](const Array& x, nb::handle axis) {
        const Dims axes = dims_from(axis, "axis");
        return expand_dims(x, std::span<const std::int64_t>(axes.begin(), axes.size()));
      },
      nb::arg("x"), nb::arg("axis"),
      nb::sig("def expand_dims(x: Array, axis: int | collections.abc.Sequence[int]) -> Array"), "A view.");
  m.def("moveaxis", &move_axis, nb::arg("x"), nb::arg("source"), nb::arg("destination"), "A view.");
  m.def("swapaxes", &swap_axes, nb::arg("x"), nb::arg("axis1"), nb::arg("axis2"), "A view.");
}

}  // namespace

void bind_array(nb::module_& m) {
  nb::class_<Array> array(
      m, "Array", nb::type_slots(buffer_slots()),
      "Elements of one dtype on a device: a shape and strides over memory that views share.");
  array
      .def_prop_ro(
          "shape", [](const Array& self) { return tuple_from(self.shape()); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "strides", [](const Array& self) { return byte_strides(self); }, "In bytes, as NumPy's.",
          nb::sig("def strides(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype", [](const Array& self) { return ElementType{self.dtype()}; })
      .def_prop_ro("device", [](const Array& self) { return self.device().facts().name; })
      .def_prop_ro("ndim", [](const Array& self) { return self.rank(); })
      .def_prop_ro("size", [](const Array& self) { return self.size(); })
      .def_prop_ro("nbytes", [](const Array& self) { return self.bytes(); })
      .def_prop_ro("itemsize", [](const Array& self) { return element_bytes(self.dtype()); })
      .def_prop_ro(
          "device_ptr", [](const Array& self) { return self.address(); },
          "The address of the first element, good while the array lives.")
      .def_prop_ro("is_contiguous", [](const Array& self) { return self.contiguous(); })
      .def_prop_ro(
          "T", [](const Array& self) { return self.transpose(); }, "A view with the axes reversed.")
      .def_prop_ro(
          "mT",
          [](const Array& self) {
            if (self.rank() < 2) throw nb::value_error("mT: an array with two axes or more was expected");
            Dims axes;
            for (std::size_t i = 0; i < self.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
            std::swap(axes[self.rank() - 1], axes[self.rank() - 2]);
            return self.transpose(axes);
          },
          "A view with the last two axes exchanged.");
  array
      .def("__getitem__", &view_at, nb::arg("index").none(),
           nb::sig("def __getitem__(self, index: object, /) -> Array"))
      .def(
          "__setitem__",
          [](const Array& self, nb::handle index, nb::handle value) { assign(view_at(self, index), value); },
          nb::arg("index").none(), nb::arg("value"),
          nb::sig("def __setitem__(self, index: object, value: object, /) -> None"))
      .def("__len__",
           [](const Array& self) {
             if (self.rank() == 0) throw nb::type_error("len() of an array without axes");
             return self.shape()[0];
           })
      .def(
          "__iter__",
          [](nb::handle self) {
            if (nb::cast<const Array&>(self).rank() == 0)
              throw nb::type_error("iteration over an array without axes");
            return nb::steal(PySeqIter_New(self.ptr()));
          },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Array]"))
      .def("__repr__",
           [](const Array& self) {
             const auto stream = session().stream_of(self.context());
             return released([&] { return to_string(self, *stream); });
           })
      .def("__bool__",
           [](const Array& self) {
             if (self.size() != 1)
               throw nb::value_error("the truth value of an array with other than one element is ambiguous");
             return nb::cast<bool>(nb::bool_(item(self)));
           })
      .def("__float__", [](const Array& self) { return nb::float_(item(self)); })
      .def("__int__", [](const Array& self) { return nb::int_(item(self)); })
      .def("__index__", [](const Array& self) {
        if (!is_integer(self.dtype()) || self.rank() != 0)
          throw nb::type_error("only an integer array without axes can be an index");
        return nb::int_(item(self));
      });
  array
      .def("item", &item, "The one element, as a Python number.",
           nb::sig("def item(self) -> bool | int | float"))
      .def("tolist", &tolist, nb::sig("def tolist(self) -> typing.Any"))
      .def(
          "to_numpy",
          [](const Array& self, nb::handle stream) { return to_numpy(self, *stream_for(self, stream)); },
          nb::arg("stream") = nb::none(),
          nb::sig("def to_numpy(self, stream: object = None) -> numpy.ndarray"),
          "A copy as a NumPy array; waits for the stream. bfloat16 and fp8 need ml_dtypes.")
      .def(
          "reshape",
          [](const Array& self, const nb::args& shape, nb::kwargs keywords) {
            std::optional<bool> copy;
            for (const auto& [key, value] : keywords) {
              if (nb::cast<std::string>(key) != "copy")
                throw nb::type_error("reshape: the one keyword is copy");
              if (!value.is_none()) copy = nb::cast<bool>(value);
            }
            return reshape(self, dims_of_args(shape, "reshape"), copy);
          },
          nb::sig("def reshape(self, *shape: int | collections.abc.Sequence[int], copy: bool | None = None) "
                  "-> Array"),
          "A view where one can have the shape, else a copy. copy=False: an error instead.")
      .def(
          "transpose",
          [](const Array& self, const nb::args& axes) {
            return axes.size() == 0 || (axes.size() == 1 && nb::handle(axes[0]).is_none())
                       ? self.transpose()
                       : self.transpose(dims_of_args(axes, "transpose"));
          },
          nb::sig("def transpose(self, *axes: int | collections.abc.Sequence[int]) -> Array"), "A view.")
      .def(
          "broadcast_to",
          [](const Array& self, nb::handle shape) { return self.broadcast_to(dims_from(shape, "shape")); },
          nb::arg("shape"),
          nb::sig("def broadcast_to(self, shape: int | collections.abc.Sequence[int]) -> Array"), "A view.")
      .def(
          "astype",
          [](const Array& self, nb::handle dtype, bool copy, nb::handle stream) {
            const DType wanted = dtype_from(dtype);
            if (!copy && wanted == self.dtype()) return self;
            const auto on = stream_for(self, stream);
            return released([&] { return self.astype(wanted, *on); });
          },
          nb::arg("dtype"), nb::kw_only(), nb::arg("copy") = true, nb::arg("stream") = nb::none(),
          nb::sig("def astype(self, dtype: object, *, copy: bool = True, stream: object = None) -> Array"))
      .def(
          "copy",
          [](const Array& self, nb::handle stream) {
            const auto on = stream_for(self, stream);
            return released([&] { return self.copy(*on); });
          },
          nb::arg("stream") = nb::none(), nb::sig("def copy(self, stream: object = None) -> Array"))
      .def(
          "contiguous",
          [](const Array& self, nb::handle stream) {
            const auto on = stream_for(self, stream);
            return released([&] { return self.to_contiguous(*on); });
          },
          nb::arg("stream") = nb::none(), nb::sig("def contiguous(self, stream: object = None) -> Array"),
          "Itself, or a row-major copy.")
      .def(
          "fill", [](Array& self, nb::handle value) { assign(self, value); }, nb::arg("value"),
          nb::sig("def fill(self, value: float) -> None"))
      .def(
          "to_device",
          [](const Array& self, std::string device_name, nb::handle stream) {
            return to_device(self, nb::str(device_name.c_str()), stream);
          },
          nb::arg("device"), nb::kw_only(), nb::arg("stream") = nb::none(),
          nb::sig("def to_device(self, device: str, *, stream: object = None) -> Array"),
          "Itself, or a copy on another device, through the host.")
      .def("shares_memory_with", &Array::shares_storage_with, nb::arg("other"));
  array
      .def(
          "squeeze", [](const Array& self, nb::handle axis) { return squeezed(self, axis); },
          nb::arg("axis") = nb::none(),
          nb::sig("def squeeze(self, axis: int | collections.abc.Sequence[int] | None = None) -> Array"),
          "A view.")
      .def(
          "ravel",
          [](const Array& self) {
            const auto on = session().stream_of(self.context());
            return released([&] { return ravel(self, *on); });
          },
          "One axis; a view where there is one.")
      .def(
          "flatten",
          [](const Array& self) {
            const auto on = session().stream_of(self.context());
            return released([&] { return flatten(self, *on); });
          },
          "One axis; always a copy.");
  bind_making(m);
  bind_shaping(m);
  bind_interop(m, array);
  m.def(
      "allclose",
      [](const Array& a, const Array& b, double rtol, double atol, bool equal_nan) {
        const auto stream = session().stream_of(a.context());
        return released([&] { return allclose(a, b, rtol, atol, equal_nan, *stream); });
      },
      nb::arg("a"), nb::arg("b"), nb::arg("rtol") = 1e-5, nb::arg("atol") = 1e-8,
      nb::arg("equal_nan") = false);
  m.def(
      "array_equal",
      [](const Array& a, const Array& b) {
        const auto stream = session().stream_of(a.context());
        return released([&] { return equal(a, b, *stream); });
      },
      nb::arg("a"), nb::arg("b"));
}

}  // namespace gpuforge::python
