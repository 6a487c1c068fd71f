// Ops on torch's tensors, where they lie: no header of torch is needed, for a tensor says by its own methods
// where its elements are. Work goes to the stream given, scratch memory comes from torch's allocator, so that
// both belong to whatever torch records or orders there.
#include <array>

#include "gpuforge/ops/copy_transpose/copy_transpose.h"
#include "gpuforge/ops/layer_norm/layer_norm.h"
#include "gpuforge/ops/reduce/reduce.h"
#include "gpuforge/ops/reduce_sum/reduce_sum.h"
#include "gpuforge/ops/rms_norm/rms_norm.h"
#include "gpuforge/ops/rms_norm_backward/rms_norm_backward.h"
#include "gpuforge/ops/softmax_online/softmax_online.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

// What `gpuforge.torch` hands over when it is imported.
struct TorchNames {
  std::array<std::pair<PyObject*, DType>, 3>
      dtypes{};                               // torch.float16, bfloat16, float32: each is one object
  nb::object allocate;                        // (bytes, device, stream) -> address
  nb::object free;                            // (address)
  nb::object data_ptr, shape, stride, dtype;  // interned attribute names
};
TorchNames* names = nullptr;  // never freed: Python's objects outlive the module's statics

DType element_type(nb::handle tensor, const char* argument) {
  const nb::object dtype = nb::steal(PyObject_GetAttr(tensor.ptr(), names->dtype.ptr()));
  for (const auto& [object, type] : names->dtypes)
    if (object == dtype.ptr()) return type;
  throw Error(ErrorCode::invalid_argument,
              format_text("gpuforge.torch: {} has dtype {}; float16, bfloat16 and float32 are supported",
                          argument, nb::str(dtype).c_str()));
}

Dims numbers(nb::object tuple) {
  if (!tuple.is_valid()) throw nb::python_error();
  Dims dims;
  const Py_ssize_t count = PyTuple_Size(tuple.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) dims.push_back(PyLong_AsLongLong(PyTuple_GetItem(tuple.ptr(), i)));
  return dims;
}

nb::object call_method(nb::handle object, const nb::object& name) {
  PyObject* const arguments[] = {object.ptr()};
  return nb::steal(
      PyObject_VectorcallMethod(name.ptr(), arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

// Torch's own memory for what an op needs besides its arguments.
class TorchMemory final : public memory::Allocator {
 public:
  TorchMemory(device::Device& device, int index, std::uintptr_t stream)
      : device_(device.shared_from_this()), index_(index), stream_(stream) {}
  device::Device& device() const override { return *device_; }
  device::Address allocate(std::size_t bytes, device::Stream&) override {
    const nb::gil_scoped_acquire acquire;
    return nb::cast<device::Address>(names->allocate(bytes, index_, stream_));
  }
  void free(device::Address address, std::size_t, device::Stream&) noexcept override {
    if (address == 0) return;
    const nb::gil_scoped_acquire acquire;
    try {
      names->free(address);
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("gpuforge.torch: scratch memory");
    }
  }

 private:
  const std::shared_ptr<device::Device> device_;
  const int index_;
  const std::uintptr_t stream_;
};

// One call: the device and stream it goes to, and the tensors as arrays.
class Call {
 public:
  // `index` of a CUDA device, or -1 for the host.
  Call(int index, std::uintptr_t stream)
      : machine_(open(index)),
        stream_(index < 0 ? machine_.stream : session().adopt_stream(machine_.context->device(), stream)) {
    if (index >= 0) scratch_ = std::make_shared<TorchMemory>(machine_.context->device(), index, stream);
  }

  Context& context() const { return *machine_.context; }
  device::Stream& stream() const { return *stream_; }
  const std::shared_ptr<memory::Allocator>& scratch() const { return scratch_; }

  Array array(nb::handle tensor, const char* argument) const {
    const nb::object address = call_method(tensor, names->data_ptr);
    if (!address.is_valid()) throw nb::python_error();
    const Shape shape = numbers(nb::steal(PyObject_GetAttr(tensor.ptr(), names->shape.ptr())));
    const Strides strides = numbers(call_method(tensor, names->stride));
    // The caller holds the tensors until the work is queued; afterwards torch's allocator keeps to the
    // stream's order.
    return from_memory(machine_.context,
                       static_cast<device::Address>(PyLong_AsUnsignedLongLong(address.ptr())), shape, strides,
                       element_type(tensor, argument), *stream_, nullptr);
  }
  std::optional<Array> optional_array(nb::handle tensor, const char* argument) const {
    if (tensor.is_none()) return std::nullopt;
    return array(tensor, argument);
  }

  // Without the interpreter's lock: a first call compiles. What the host computes is done when it returns.
  template <typename Work>
  void run(Work&& work) const {
    released([&] {
      work();
      if (scratch_ == nullptr) stream_->synchronize();
    });
  }

 private:
  static Machine& open(int index) {
    constexpr std::array<std::string_view, 8> kNames = {"cuda:0", "cuda:1", "cuda:2", "cuda:3",
                                                        "cuda:4", "cuda:5", "cuda:6", "cuda:7"};
    if (index < 0) return session().open("cpu");
    const auto at = static_cast<std::size_t>(index);
    return at < kNames.size() ? session().open(kNames[at]) : session().open(format_text("cuda:{}", index));
  }
  Machine& machine_;
  std::shared_ptr<device::Stream> stream_;
  std::shared_ptr<memory::Allocator> scratch_;
};

const Array* pointer(const std::optional<Array>& array) {
  return array ? &*array : nullptr;
}

template <typename Work>
void with_residual(const Call& call, nb::handle residual, nb::handle residual_out, const Work& work) {
  const std::optional<Array> in = call.optional_array(residual, "residual");
  std::optional<Array> out = call.optional_array(residual_out, "residual_out");
  GPUFORGE_CHECK(in.has_value() == out.has_value(),
                 "gpuforge.torch: residual and residual_out are given both or neither");
  call.run([&] { work(in ? std::optional<ops::Residual>({*out, *in}) : std::nullopt); });
}

void start(nb::object float16, nb::object bfloat16, nb::object float32, nb::object allocate,
           nb::object free) {
  if (names != nullptr) return;
  names = new TorchNames{{{{float16.release().ptr(), DType::f16},
                           {bfloat16.release().ptr(), DType::bf16},
                           {float32.release().ptr(), DType::f32}}},
                         std::move(allocate),
                         std::move(free),
                         nb::steal(PyUnicode_InternFromString("data_ptr")),
                         nb::steal(PyUnicode_InternFromString("shape")),
                         nb::steal(PyUnicode_InternFromString("stride")),
                         nb::steal(PyUnicode_InternFromString("dtype"))};
}

// The plain kernel of the lab's ceilings on memory given, for comparisons in one process.
void move_bytes(device::Address out, device::Address in, std::int64_t units, int reads, int writes, int each,
                int index, std::uintptr_t stream) {
  const Call call(index, stream);
  call.run([&] {
    Context& context = call.context();
    const auto kernel = context.jit().embedded_kernel(
        "gpuforge/lab/ceilings.cu", format_text("gpuforge::move_bytes<{}, {}, {}>", reads, writes, each),
        context.device());
    const std::int64_t tile = std::int64_t{256} * each;
    const device::LaunchConfig config{.grid = {static_cast<std::uint32_t>((units + tile - 1) / tile)},
                                      .block = {256}};
    (*kernel)(config, call.stream(), out, in, static_cast<long long>(units));
  });
}

}  // namespace

void bind_torch(nb::module_& m) {
  nb::module_ torch = m.def_submodule("torch_ops", "What gpuforge.torch calls; tensors are torch's.");
  torch.def("start", &start);
  torch.def("move_bytes", &move_bytes);
  torch.def("copy_transpose", [](nb::handle x, nb::handle out, int tile, int index, std::uintptr_t stream) {
    const Call call(index, stream);
    const Array in = call.array(x, "x");
    Array result = call.array(out, "out");
    call.run([&] { ops::copy_transpose(result, in, {.tile_size = tile}, call.stream()); });
  });
  torch.def("reduce", [](nb::handle x, nb::handle out, std::int64_t dim, std::string_view op, bool keepdim,
                         int index, std::uintptr_t stream) {
    const Call call(index, stream);
    const Array in = call.array(x, "x");
    Array result = call.array(out, "out");
    const ops::ReduceOp which = ops::parse_reduce_op(op);
    call.run([&] {
      ops::reduce(result, in, dim, which, {.keepdim = keepdim, .scratch = call.scratch()}, call.stream());
    });
  });
  torch.def("reduce_sum", [](nb::handle x, nb::handle out, std::int64_t dim, bool keepdim, int index,
                             std::uintptr_t stream) {
    const Call call(index, stream);
    const Array in = call.array(x, "x");
    Array result = call.array(out, "out");
    call.run([&] {
      ops::reduce_sum(result, in, dim, {.keepdim = keepdim, .scratch = call.scratch()}, call.stream());
    });
  });
  torch.def("softmax", [](nb::handle x, nb::handle out, std::int64_t dim, int index, std::uintptr_t stream) {
    const Call call(index, stream);
    const Array in = call.array(x, "x");
    Array result = call.array(out, "out");
    call.run([&] { ops::softmax_online(result, in, {.dim = dim}, call.stream()); });
  });
  torch.def("softmax_backward", [](nb::handle dy, nb::handle y, nb::handle dx, std::int64_t dim, int index,
                                   std::uintptr_t stream) {
    const Call call(index, stream);
    const Array gradient = call.array(dy, "dy"), result = call.array(y, "y");
    Array out = call.array(dx, "dx");
    call.run([&] { ops::softmax_online_backward(out, gradient, result, {.dim = dim}, call.stream()); });
  });
  torch.def(
      "rms_norm",
      [](nb::handle x, nb::handle out, nb::handle weight, float eps, nb::handle residual,
         nb::handle residual_out, int index, std::uintptr_t stream) {
        const Call call(index, stream);
        const Array in = call.array(x, "x");
        Array result = call.array(out, "out");
        const std::optional<Array> scale = call.optional_array(weight, "weight");
        with_residual(call, residual, residual_out, [&](std::optional<ops::Residual> sum) {
          ops::rms_norm(result, in, pointer(scale), sum, {.eps = eps}, call.stream());
        });
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(),
      nb::arg());
  torch.def(
      "rms_norm_backward",
      [](nb::handle dy, nb::handle x, nb::handle weight, nb::handle dx, nb::handle dweight, float eps,
         int index, std::uintptr_t stream) {
        const Call call(index, stream);
        const Array gradient = call.array(dy, "dy"), in = call.array(x, "x");
        const std::optional<Array> scale = call.optional_array(weight, "weight");
        Array out = call.array(dx, "dx");
        std::optional<Array> scale_out = call.optional_array(dweight, "dweight");
        call.run([&] {
          ops::rms_norm_backward(out, scale_out ? &*scale_out : nullptr, gradient, in, pointer(scale),
                                 {.eps = eps, .scratch = call.scratch()}, call.stream());
        });
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  torch.def(
      "layer_norm",
      [](nb::handle x, nb::handle out, nb::handle weight, nb::handle bias, float eps, nb::handle residual,
         nb::handle residual_out, int index, std::uintptr_t stream) {
        const Call call(index, stream);
        const Array in = call.array(x, "x");
        Array result = call.array(out, "out");
        const std::optional<Array> scale = call.optional_array(weight, "weight"),
                                   shift = call.optional_array(bias, "bias");
        with_residual(call, residual, residual_out, [&](std::optional<ops::Residual> sum) {
          ops::layer_norm(result, in, pointer(scale), pointer(shift), sum, {.eps = eps}, call.stream());
        });
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg().none(),
      nb::arg(), nb::arg());
}

}  // namespace gpuforge::python
