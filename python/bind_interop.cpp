// Arrays shared with other libraries, without copies where that can be: DLPack, __cuda_array_interface__, the
// buffer protocol, NumPy.
#include <algorithm>
#include <array>
#include <bit>
#include <list>

#include "python/bind.h"
#include "python/dlpack.h"

namespace gpuforge::python {
namespace {

struct DlCode {
  DType dtype;
  std::uint8_t code;
  std::uint8_t bits;
  const char* typestr;  // of NumPy; nothing: it has none
  const char* format;   // of the struct module
};
constexpr std::array kCodes = {
    DlCode{DType::f64, 2, 64, "<f8", "d"},
    DlCode{DType::f32, 2, 32, "<f4", "f"},
    DlCode{DType::f16, 2, 16, "<f2", "e"},
    DlCode{DType::bf16, 4, 16, nullptr, nullptr},
    DlCode{DType::f8e4m3, 10, 8, nullptr, nullptr},
    DlCode{DType::f8e5m2, 12, 8, nullptr, nullptr},
    DlCode{DType::i64, 0, 64, "<i8", "q"},
    DlCode{DType::i32, 0, 32, "<i4", "i"},
    DlCode{DType::i16, 0, 16, "<i2", "h"},
    DlCode{DType::i8, 0, 8, "|i1", "b"},
    DlCode{DType::u8, 1, 8, "|u1", "B"},
    DlCode{DType::boolean, 6, 8, "|b1", "?"},
};

const DlCode& code_of(DType dtype) {
  return *std::find_if(kCodes.begin(), kCodes.end(), [&](const DlCode& code) { return code.dtype == dtype; });
}

bool on_host(const Array& array) {
  return array.device().facts().kind != device::DeviceKind::cuda;
}

DlDevice dl_device(const Array& array) {
  if (on_host(array)) return {kDlCpu, 0};
  return {kDlCuda, array.device().facts().ordinal};
}

// ---- giving

// What a consumer of our memory holds: the array, where it is.
struct Lent {
  Array array;
  memory::Hold pin;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};
};

DlTensor fill_tensor(Lent& lent) {
  const Array& array = lent.array;
  std::copy(array.shape().begin(), array.shape().end(), lent.shape.begin());
  std::copy(array.strides().begin(), array.strides().end(), lent.strides.begin());
  const DlCode& code = code_of(array.dtype());
  return {reinterpret_cast<void*>(array.address()),
          dl_device(array),
          static_cast<std::int32_t>(array.rank()),
          {code.code, code.bits, 1},
          lent.shape.data(),
          lent.strides.data(),
          0};
}

// The work queued for the array so far comes before what the consumer does on its stream.
void order_for_consumer(const Array& array, nb::handle stream) {
  const auto own = session().stream_of(array.context());
  if (on_host(array)) {
    if (!stream.is_none())
      throw nb::type_error("__dlpack__: memory of the host has no stream; None was expected");
    released([&] {
      own->synchronize();
      // Outsiders write without telling the simulator, which else takes their bytes for never written.
      if (array.device().facts().kind == device::DeviceKind::sim && array.storage_bytes() > 0) {
        own->copy(array.storage_address(), array.storage_address(), array.storage_bytes());
        own->synchronize();
      }
    });
    return;
  }
  const auto handle = stream.is_none() ? std::int64_t{1} : nb::cast<std::int64_t>(stream);
  if (handle == -1) return;
  if (handle == 0)
    throw nb::value_error(
        "__dlpack__: stream 0 is ambiguous; 1 is the legacy default stream, 2 the per-thread one");
  released([&] {
    const auto consumer =
        array.device().shared_from_this()->adopt_stream(static_cast<std::uintptr_t>(handle));
    if (consumer->native_handle() == own->native_handle()) return;
    const auto event = array.device().make_event(false);
    own->record(*event);
    consumer->wait(*event);
  });
}

template <typename Managed>
void capsule_destroyed(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;  // consumed: the consumer deletes it
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <typename Managed>
nb::object make_capsule(const Array& array, bool copied) {
  constexpr bool kVersioned = std::is_same_v<Managed, DlManagedTensorVersioned>;
  auto lent = std::make_unique<Lent>(Lent{array, array.pin()});
  auto managed = std::make_unique<Managed>();
  managed->tensor = fill_tensor(*lent);
  if constexpr (kVersioned) {
    managed->major = 1;
    managed->minor = 0;
    managed->flags = copied ? kDlCopied : 0;
  }
  managed->manager = lent.release();
  managed->deleter = [](Managed* self) {
    delete static_cast<Lent*>(self->manager);
    delete self;
  };
  const char* const name = kVersioned ? "dltensor_versioned" : "dltensor";
  const auto destroyed =
      kVersioned ? [](PyObject* capsule) { capsule_destroyed<Managed>(capsule, "dltensor_versioned"); }
                 : [](PyObject* capsule) { capsule_destroyed<Managed>(capsule, "dltensor"); };
  nb::object capsule = nb::steal(PyCapsule_New(managed.get(), name, destroyed));
  if (!capsule.is_valid()) throw nb::python_error();
  static_cast<void>(managed.release());
  return capsule;
}

[[noreturn]] void raise_buffer_error(const std::string& text) {
  PyErr_SetString(PyExc_BufferError, text.c_str());
  throw nb::python_error();
}

nb::object dlpack(const Array& self, nb::handle stream, nb::handle max_version, nb::handle wanted,
                  nb::handle copy) {
  Array array = self;
  bool copied = false;
  const bool may_copy = copy.is_none() || nb::cast<bool>(copy);
  if (!wanted.is_none()) {
    const auto type = nb::cast<std::int32_t>(wanted[0]);
    const DlDevice own = dl_device(self);
    if (type != own.type || nb::cast<std::int32_t>(wanted[1]) != own.id) {
      if (type != kDlCpu || !may_copy)
        raise_buffer_error(
            format_text("__dlpack__: an array of {} can be had there, or as a copy on the host",
                        self.device().facts().name));
      const auto from = session().stream_of(self.context());
      const Place host = place_from(nb::str("cpu"), nb::none());
      array = released([&] {
        std::vector<std::byte> elements(self.bytes());
        self.to_host(elements, *from);
        return from_host(host.context, elements, self.shape(), self.dtype(), *host.stream);
      });
      copied = true;
      stream = nb::none();
    }
  }
  if (!copied && !copy.is_none() && nb::cast<bool>(copy)) {
    const auto on = session().stream_of(self.context());
    array = released([&] { return self.copy(*on); });
    copied = true;
  }
  order_for_consumer(array, stream);
  const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  return versioned ? make_capsule<DlManagedTensorVersioned>(array, copied)
                   : make_capsule<DlManagedTensor>(array, copied);
}

// ---- taking

// Foreign memory is given back when the work queued on it is done. Never on a thread of a device: its owner
// wants the interpreter's lock, which may be held by one who waits for that device.
struct Returned {
  std::unique_ptr<device::Event> after;
  std::function<void()> give_back;
};
std::mutex returned_mutex;
std::list<Returned>* const returned_later = new std::list<Returned>;

void give_back_idle() {
  std::list<Returned> idle;
  {
    const std::lock_guard lock(returned_mutex);
    for (auto each = returned_later->begin(); each != returned_later->end();) {
      const auto next = std::next(each);
      if (each->after->done()) idle.splice(idle.end(), *returned_later, each);
      each = next;
    }
  }
  for (Returned& each : idle) each.give_back();
}

std::shared_ptr<void> owner_of(std::shared_ptr<device::Stream> stream, std::function<void()> give_back) {
  return {nullptr, [stream = std::move(stream), give_back = std::move(give_back)](void*) {
            if (!nb::is_alive()) return;  // the interpreter is gone, and its memory with it
            const nb::gil_scoped_acquire acquire;
            try {
              if (stream->capturing() || !stream->done()) {
                Returned later{stream->device().make_event(false), give_back};
                stream->record(*later.after);
                const std::lock_guard lock(returned_mutex);
                returned_later->push_back(std::move(later));
                return;
              }
            } catch (const std::exception&) {  // a broken stream does nothing more with the memory
            }
            give_back();
          }};
}

DType dtype_of_code(const DlDataType& type) {
  for (const DlCode& code : kCodes) {
    if (code.code == type.code && code.bits == type.bits && type.lanes == 1) return code.dtype;
  }
  throw nb::type_error(format_text("from_dlpack: no dtype here has code {}, {} bits and {} lanes",
                                   int{type.code}, int{type.bits}, int{type.lanes})
                           .c_str());
}

Array from_tensor(const DlTensor& tensor, std::function<void()> give_back) {
  const bool cuda = tensor.device.type == kDlCuda || tensor.device.type == kDlCudaManaged;
  const std::string device_name = cuda ? format_text("cuda:{}", tensor.device.id) : "cpu";
  const Place place = place_from(nb::str(device_name.c_str()), nb::none());
  auto owner = owner_of(place.stream, std::move(give_back));
  const Shape shape(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
  const Strides strides =
      tensor.strides == nullptr
          ? row_major_strides(shape)
          : Strides(std::span<const std::int64_t>(tensor.strides, static_cast<std::size_t>(tensor.ndim)));
  const auto address = reinterpret_cast<device::Address>(tensor.data) + tensor.byte_offset;
  return from_memory(place.context, address, shape, strides, dtype_of_code(tensor.dtype), *place.stream,
                     std::move(owner));
}

template <typename Managed>
Array take(PyObject* capsule, const char* name, const char* used) {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed == nullptr) throw nb::python_error();
  PyCapsule_SetName(capsule, used);  // from now on it is ours to delete
  bool given_back = false;
  const auto give_back = [managed] {
    if (managed->deleter != nullptr) managed->deleter(managed);
  };
  static_cast<void>(given_back);
  return from_tensor(managed->tensor, give_back);
}

Array from_capsule(nb::handle capsule, bool* read_only) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
    const auto* const managed =
        static_cast<DlManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major != 1)
      raise_buffer_error(format_text("from_dlpack: version 1 was expected, got {}", managed->major));
    *read_only = (managed->flags & kDlReadOnly) != 0;
    return take<DlManagedTensorVersioned>(capsule.ptr(), "dltensor_versioned", "used_dltensor_versioned");
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor") == 0)
    throw nb::type_error("from_dlpack: a capsule called dltensor that nobody has used yet was expected");
  return take<DlManagedTensor>(capsule.ptr(), "dltensor", "used_dltensor");
}

nb::object call_dlpack(nb::handle x, nb::handle stream, nb::handle copy) {
  nb::dict keywords;
  if (!stream.is_none()) keywords["stream"] = stream;
  nb::dict modern = keywords;
  modern = nb::borrow<nb::dict>(keywords.attr("copy")());
  modern["max_version"] = nb::make_tuple(1, 0);
  if (!copy.is_none()) modern["copy"] = copy;
  try {
    return x.attr("__dlpack__")(**modern);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return x.attr("__dlpack__")(**keywords);  // from before DLPack 1
}

// JAX's arrays never change, and its capsules, of before DLPack 1, cannot say so.
bool is_of_jax(nb::handle x) {
  return nb::cast<std::string>(nb::str(x.type().attr("__module__"))).starts_with("jax");
}

Array from_dlpack(nb::handle x, nb::handle device_name, nb::handle copy) {
  give_back_idle();
  // Who says copy=False to JAX's memory takes it upon himself to read it only.
  const bool want_copy = copy.is_none() ? is_of_jax(x) : nb::cast<bool>(copy);
  bool read_only = false;
  std::optional<Array> array;
  if (PyCapsule_CheckExact(x.ptr())) {
    array = from_capsule(x, &read_only);
  } else {
    const nb::object place = x.attr("__dlpack_device__")();
    const int type = nb::cast<int>(nb::int_(place[0]));
    nb::object stream = nb::none();
    if (type == kDlCuda || type == kDlCudaManaged) {
      const std::string name = format_text("cuda:{}", nb::cast<int>(place[1]));
      stream = nb::cast(place_from(nb::str(name.c_str()), nb::none()).stream->native_handle());
    } else if (type != kDlCpu && type != kDlCudaHost) {
      raise_buffer_error(
          format_text("from_dlpack: memory of the host or of a CUDA device was expected, got type {}", type));
    }
    array = from_capsule(call_dlpack(x, stream, copy), &read_only);
  }
  const auto stream = session().stream_of(array->context());
  if (read_only && !copy.is_none() && !want_copy)
    raise_buffer_error(
        "from_dlpack: the memory is read-only, and arrays here can be written: a copy is needed");
  if (want_copy || read_only) array = released([&] { return array->copy(*stream); });
  if (device_name.is_none() || nb::cast<std::string>(device_name) == array->device().facts().name)
    return *array;
  if (!copy.is_none() && !want_copy)
    raise_buffer_error("from_dlpack: another device was asked for, which needs a copy");
  const nb::object moved = nb::cast(*array).attr("to_device")(device_name);
  return nb::cast<Array>(moved);
}

// __cuda_array_interface__ of another library.
Array from_cuda_interface(nb::handle x) {
  give_back_idle();
  const nb::object interface = x.attr("__cuda_array_interface__");
  const std::string typestr = nb::cast<std::string>(interface["typestr"]);
  const auto code = std::find_if(kCodes.begin(), kCodes.end(), [&](const DlCode& each) {
    return each.typestr != nullptr && typestr.substr(1) == std::string_view(each.typestr).substr(1);
  });
  if (code == kCodes.end())
    throw nb::type_error(format_text("__cuda_array_interface__: no dtype here is {}", typestr).c_str());
  const Place place = place_from(nb::str("cuda:0"), nb::none());
  const Shape shape = dims_from(interface["shape"], "__cuda_array_interface__");
  Strides strides = row_major_strides(shape);
  const nb::object given = interface.attr("get")("strides", nb::none());
  if (!given.is_none()) {
    strides = dims_from(given, "__cuda_array_interface__");
    for (std::int64_t& stride : strides) stride /= static_cast<std::int64_t>(element_bytes(code->dtype));
  }
  const nb::object stream = interface.attr("get")("stream", nb::none());
  if (!stream.is_none()) {
    const auto producer = place.context->device().adopt_stream(nb::cast<std::uintptr_t>(stream));
    if (producer->native_handle() != place.stream->native_handle()) {
      const auto event = place.context->device().make_event(false);
      producer->record(*event);
      place.stream->wait(*event);
    }
  }
  // A reference to the other library's object keeps its memory.
  auto kept = std::make_shared<nb::object>(nb::borrow(x));
  auto owner = owner_of(place.stream, [kept]() mutable { kept->reset(); });
  return from_memory(place.context, nb::cast<device::Address>(interface["data"][0]), shape, strides,
                     code->dtype, *place.stream, std::move(owner));
}

Array asarray(nb::handle x, nb::handle dtype, nb::handle device_name, nb::handle copy, nb::handle stream) {
  std::optional<Array> array;
  const bool never = !copy.is_none() && !nb::cast<bool>(copy);
  bool read_only = false;
  if (nb::isinstance<Array>(x)) {
    array = nb::cast<const Array&>(x);
  } else if (nb::hasattr(x, "__cuda_array_interface__")) {
    read_only = nb::cast<bool>(x.attr("__cuda_array_interface__")["data"][1]);
    if (read_only && never)
      raise_buffer_error(
          "asarray: the memory is read-only, and arrays here can be written: a copy is needed");
    array = from_cuda_interface(x);
  } else if (nb::hasattr(x, "__dlpack__") &&
             !nb::isinstance(x, nb::module_::import_("numpy").attr("generic"))) {
    const Place place = place_from(device_name, stream);
    const bool host = nb::cast<int>(nb::int_(x.attr("__dlpack_device__")()[0])) == kDlCpu;
    // What lies on the host can be used where it is by the cpu alone.
    if (!host || place.context->device().facts().kind == device::DeviceKind::cpu) {
      try {
        array = from_dlpack(x, nb::none(), never ? nb::borrow(copy) : nb::none());
      } catch (nb::python_error& error) {  // a dtype or a byte order that DLPack does not have
        if (never) throw;
      } catch (const nb::builtin_exception&) {
        if (never) throw;
      }
    }
  }
  if (!array) {
    if (never) throw nb::value_error("asarray: this needs a copy, and copy=False was given");
    return from_python(x, dtype_or_none(dtype), place_from(device_name, stream));
  }
  const DType wanted = dtype_or_none(dtype).value_or(array->dtype());
  const bool moves =
      !device_name.is_none() && nb::cast<std::string>(device_name) != array->device().facts().name;
  if (never && (moves || wanted != array->dtype()))
    throw nb::value_error("asarray: this needs a copy, and copy=False was given");
  if (moves) array = nb::cast<Array>(nb::cast(*array).attr("to_device")(device_name));
  const auto on = session().stream_of(array->context());
  if (wanted != array->dtype()) return released([&] { return array->astype(wanted, *on); });
  if (read_only || (!copy.is_none() && nb::cast<bool>(copy)))
    return released([&] { return array->copy(*on); });
  return *array;
}

// ---- the buffer protocol

struct BufferHold {
  Array array;
  memory::Hold pin;
  std::array<Py_ssize_t, kMaxRank> shape{};
  std::array<Py_ssize_t, kMaxRank> strides{};
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  try {
    const Array& array = *nb::inst_ptr<Array>(self);
    const DlCode& code = code_of(array.dtype());
    if (array.device().facts().kind != device::DeviceKind::cpu || code.format == nullptr) {
      PyErr_SetString(
          PyExc_BufferError,
          "only arrays of the cpu whose dtype the struct module knows have a buffer; use to_numpy()");
      return -1;
    }
    const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    if (!strided && !array.contiguous()) {
      PyErr_SetString(PyExc_BufferError, "the array is not contiguous");
      return -1;
    }
    const auto stream = session().stream_of(array.context());
    released([&] { stream->synchronize(); });
    auto hold = std::make_unique<BufferHold>(BufferHold{array, array.pin()});
    const auto bytes = static_cast<Py_ssize_t>(element_bytes(array.dtype()));
    for (std::size_t i = 0; i < array.rank(); ++i) {
      hold->shape[i] = array.shape()[i];
      hold->strides[i] = array.strides()[i] * bytes;
    }
    view->buf = reinterpret_cast<void*>(array.address());
    view->len = static_cast<Py_ssize_t>(array.bytes());
    view->readonly = 0;
    view->itemsize = bytes;
    view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(code.format) : nullptr;
    view->ndim = static_cast<int>(array.rank());
    view->shape = (flags & PyBUF_ND) != 0 ? hold->shape.data() : nullptr;
    view->strides = strided ? hold->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = hold.release();
    view->obj = Py_NewRef(self);
    return 0;
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) {
  delete static_cast<BufferHold*>(view->internal);
}

nb::dict cuda_interface(const Array& self) {
  const DlCode& code = code_of(self.dtype());
  if (on_host(self) || code.typestr == nullptr) {
    PyErr_SetString(PyExc_AttributeError,
                    "__cuda_array_interface__: of arrays on a CUDA device whose dtype NumPy has");
    throw nb::python_error();
  }
  const auto stream = session().stream_of(self.context());
  const memory::Hold brought_back = self.record_use(*stream);
  nb::dict interface;
  interface["shape"] = tuple_from(self.shape());
  interface["typestr"] = code.typestr;
  interface["data"] = nb::make_tuple(self.address(), false);
  interface["strides"] = self.contiguous() ? nb::object(nb::none()) : nb::object(byte_strides(self));
  interface["version"] = 3;
  interface["stream"] = stream->native_handle();
  return interface;
}

}  // namespace

PyType_Slot* buffer_slots() {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                                {0, nullptr}};
  return slots;
}

void bind_interop(nb::module_& m, nb::class_<Array>& array) {
  array
      .def("__dlpack__", &dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(),
           nb::sig("def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = "
                   "None, dl_device: "
                   "tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any"))
      .def(
          "__dlpack_device__",
          [](const Array& self) {
            const DlDevice device = dl_device(self);
            return nb::make_tuple(device.type, device.id);
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def_prop_ro("__cuda_array_interface__", &cuda_interface,
                   nb::sig("def __cuda_array_interface__(self) -> dict[str, typing.Any]"))
      .def(
          "__array__",
          [](const Array& self, nb::handle dtype, nb::handle copy) {
            if (!copy.is_none() && !nb::cast<bool>(copy))
              throw nb::value_error("__array__: memory of this device can reach NumPy as a copy alone");
            nb::object made = to_numpy(self, *session().stream_of(self.context()));
            return dtype.is_none() ? made : nb::object(made.attr("astype")(dtype, nb::arg("copy") = false));
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
          nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> numpy.ndarray"))
      .def(
          "__array_namespace__", [](nb::handle, nb::handle) { return nb::module_::import_("gpuforge"); },
          nb::kw_only(), nb::arg("api_version") = nb::none(),
          nb::sig("def __array_namespace__(self, *, api_version: str | None = None) -> types.ModuleType"));
  m.def("from_dlpack", &from_dlpack, nb::arg("x"), nb::kw_only(), nb::arg("device") = nb::none(),
        nb::arg("copy") = nb::none(),
        nb::sig(
            "def from_dlpack(x: object, /, *, device: str | None = None, copy: bool | None = None) -> Array"),
        "An array over the memory of another library's, in the order of its stream. A copy for read-only "
        "memory, of JAX's arrays, which never change (copy=False: over their memory, to be read), for "
        "another device, or when asked for.");
  m.def("asarray", &asarray, nb::arg("x"), nb::arg("dtype") = nb::none(), nb::kw_only(),
        nb::arg("device") = nb::none(), nb::arg("copy") = nb::none(), nb::arg("stream") = nb::none(),
        nb::sig("def asarray(x: object, dtype: object = None, *, device: str | None = None, copy: bool | "
                "None = None, stream: object "
                "= None) -> Array"),
        "Itself, a view of another library's memory, or a copy where there is no other way.\n\n"
        ">>> import numpy as np\n>>> there = np.zeros(2)\n>>> here = gf.asarray(there, device='cpu')\n>>> "
        "here[0] = 5\n"
        ">>> gf.synchronize('cpu')\n>>> float(there[0])\n5.0");
}

}  // namespace gpuforge::python
