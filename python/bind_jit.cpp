// Kernels: compiled at the first need on each device, launched with arrays and numbers. The path of a launch
// allocates nothing for up to 32 arguments.
#include <algorithm>
#include <array>
#include <filesystem>

#include "gpuforge/array/simulated_launch.h"
#include "gpuforge/jit/argument_slots.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

constexpr std::size_t kOnStack = 32;

// One device's copy of a kernel.
struct Loaded {
  const Context* context = nullptr;  // that its arrays are of
  std::shared_ptr<const jit::Kernel> kernel;
  std::vector<jit::ArgumentSlot> slots;
  std::optional<std::size_t> count_slot;
  SimulatedLaunches* simulated = nullptr;  // for arrays of the cpu
};

struct PythonKernel {
  PythonKernel(jit::KernelSource text, std::string func, device::Dim3 default_block)
      : source(std::move(text)), entry(std::move(func)), block(default_block) {}
  PythonKernel(const PythonKernel&) = delete;
  PythonKernel& operator=(const PythonKernel&) = delete;

  jit::SourceHandle source;
  std::string entry;
  device::Dim3 block;
  std::vector<std::unique_ptr<Loaded>> loaded;  // under the interpreter's lock
};

// For the cpu's arrays; never destroyed, as the session.
SimulatedLaunches& simulated_launches() {
  static SimulatedLaunches* const launches = new SimulatedLaunches(session().open("sim").context);
  return *launches;
}

Loaded& load(PythonKernel& self, Context& context) {
  for (const auto& loaded : self.loaded) {
    if (loaded->context == &context) return *loaded;
  }
  auto made = std::make_unique<Loaded>();
  released([&] {
    made->context = &context;
    if (context.device().facts().kind == device::DeviceKind::cpu) {
      made->simulated = &simulated_launches();
      Context& simulator = made->simulated->simulator();
      made->kernel = simulator.jit().kernel(self.source, self.entry, simulator.device());
    } else {
      made->kernel = context.jit().kernel(self.source, self.entry, context.device());
    }
    made->slots = jit::argument_slots(made->kernel->entry());
    made->count_slot = jit::element_count_slot(made->slots);
    if (made->simulated != nullptr) {
      session().log()->info(
          "{}: its arrays are on cpu, which runs no kernels: it runs in the simulator, on their memory",
          made->kernel->entry().expression);
    }
  });
  for (const auto& loaded : self.loaded) {  // another thread was quicker
    if (loaded->context == &context) return *loaded;
  }
  return *self.loaded.emplace_back(std::move(made));
}

device::Dim3 dim3_from(nb::handle value, const char* what) {
  const Dims dims = dims_from(value, what);
  GPUFORGE_CHECK(!dims.empty() && dims.size() <= 3, "launch: {}: one to three integers were expected, got {}",
                 what, dims.size());
  std::array<std::uint32_t, 3> parts = {1, 1, 1};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    GPUFORGE_CHECK(dims[i] > 0 && dims[i] <= 0xffffffff, "launch: {}: {} is not a number of {}", what,
                   dims[i], what[0] == 'g' ? "blocks" : "threads");
    parts[i] = static_cast<std::uint32_t>(dims[i]);
  }
  return {parts[0], parts[1], parts[2]};
}

struct Options {
  nb::handle grid, block, stream, shared, cluster, cooperative;
};

Options options_from(const nb::kwargs& keywords) {
  Options options;
  for (const auto& [key, value] : keywords) {
    const char* const name = PyUnicode_AsUTF8AndSize(key.ptr(), nullptr);
    const std::string_view text = name == nullptr ? "" : name;
    if (value.is_none()) continue;
    if (text == "grid" || text == "grid_size")
      options.grid = value;
    else if (text == "block" || text == "block_size")
      options.block = value;
    else if (text == "stream")
      options.stream = value;
    else if (text == "shared" || text == "shared_bytes")
      options.shared = value;
    else if (text == "cluster")
      options.cluster = value;
    else if (text == "cooperative")
      options.cooperative = value;
    else
      throw nb::type_error(
          format_text(
              "launch: '{}' is not a keyword; known are grid, block, stream, shared, cluster, cooperative",
              text)
              .c_str());
  }
  return options;
}

[[noreturn]] void wrong_type(const Loaded& loaded, std::size_t index, nb::handle value,
                             const char* expected) {
  throw nb::type_error(format_text("{}: {} was expected, got {}",
                                   jit::slot_text(loaded.kernel->entry(), index), expected,
                                   nb::cast<std::string>(value.type().attr("__name__")))
                           .c_str());
}

// Arrays of other libraries, as ours, for one launch.
const Array* array_from(nb::handle value, std::vector<nb::object>& kept) {
  if (nb::isinstance<Array>(value)) return nb::inst_ptr<Array>(value);
  if (!nb::hasattr(value, "__cuda_array_interface__")) return nullptr;
  kept.push_back(nb::module_::import_("gpuforge._core").attr("asarray")(value));
  return nb::inst_ptr<Array>(kept.back());
}

void store_number(std::uint64_t& to, const Loaded& loaded, std::size_t index, nb::handle value) {
  const jit::ArgumentSlot& slot = loaded.slots[index];
  const jit::Entry& entry = loaded.kernel->entry();
  if (PyLong_Check(value.ptr())) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) {
      jit::store_integer(to, slot, number, entry, index);
      return;
    }
    const unsigned long long large = PyLong_AsUnsignedLongLong(value.ptr());
    const bool takes = slot.kind == jit::SlotKind::unsigned_integer || slot.kind == jit::SlotKind::word;
    if (PyErr_Occurred() != nullptr || slot.bytes != 8 || !takes) {
      PyErr_Clear();
      throw nb::value_error(
          format_text("{}: the integer has more bits", jit::slot_text(entry, index)).c_str());
    }
    to = large;
    return;
  }
  if (PyFloat_Check(value.ptr())) {
    jit::store_floating(to, slot, PyFloat_AsDouble(value.ptr()), entry, index);
    return;
  }
  if (PyIndex_Check(value.ptr())) {  // numpy.int32
    const nb::object integer = nb::steal(PyNumber_Index(value.ptr()));
    if (integer.is_valid()) {
      store_number(to, loaded, index, integer);
      return;
    }
    PyErr_Clear();
  } else if (nb::hasattr(value, "__float__")) {  // numpy.float32
    const nb::object number = nb::steal(PyNumber_Float(value.ptr()));
    if (number.is_valid()) {
      store_number(to, loaded, index, number);
      return;
    }
    PyErr_Clear();
  }
  wrong_type(loaded, index, value, slot.kind == jit::SlotKind::pointer ? "an array of gpuforge" : "a number");
}

// What a launch is made of, on the stack.
struct Launch {
  std::array<std::uint64_t, kOnStack> values;
  std::array<jit::Argument, kOnStack> arguments;
  std::array<const Array*, kOnStack> arrays;
  std::size_t array_count = 0;
};

void fill_arguments(Launch& launch, const Loaded& loaded, const nb::args& args,
                    std::vector<nb::object>& kept) {
  const std::size_t count = args.size();
  for (std::size_t i = 0; i < count; ++i) {
    const nb::handle value = args[i];
    const jit::ArgumentSlot& slot = loaded.slots[i];
    const bool may_be_array = slot.kind == jit::SlotKind::pointer || slot.kind == jit::SlotKind::word;
    const Array* const array = may_be_array || !is_scalar(value) ? array_from(value, kept) : nullptr;
    if (array != nullptr) {
      if (!may_be_array) wrong_type(loaded, i, value, "a number");
      GPUFORGE_CHECK(!slot.pointee || *slot.pointee == array->dtype() ||
                         (element_bytes(*slot.pointee) == 1 && element_bytes(array->dtype()) == 1 &&
                          !is_floating(*slot.pointee) && !is_floating(array->dtype())),
                     "{}: got an array of {}", jit::slot_text(loaded.kernel->entry(), i),
                     python_name(array->dtype()));
      GPUFORGE_CHECK(&array->context() == loaded.context,
                     "{}: the array is on {}, others of the launch on {}",
                     jit::slot_text(loaded.kernel->entry(), i), array->device().facts().name,
                     loaded.context->device().facts().name);
      launch.arrays[launch.array_count++] = array;
      launch.values[i] = array->address();
      launch.arguments[i] = {&launch.values[i], sizeof(device::Address), "pointer"};
      continue;
    }
    store_number(launch.values[i], loaded, i, value);
    launch.arguments[i] = {&launch.values[i], slot.bytes, {}};
  }
}

std::int64_t elements_of(const Launch& launch, const Loaded& loaded) {
  if (loaded.count_slot) {
    const jit::ArgumentSlot& slot = loaded.slots[*loaded.count_slot];
    const auto unused = static_cast<unsigned>(64 - 8 * std::min<std::size_t>(slot.bytes, 8));
    const std::uint64_t high = launch.values[*loaded.count_slot] << unused;
    return slot.kind == jit::SlotKind::signed_integer ? static_cast<std::int64_t>(high) >> unused
                                                      : static_cast<std::int64_t>(high >> unused);
  }
  throw Error(
      ErrorCode::invalid_argument,
      format_text("{}: pass grid=: no parameter says how many elements there are (one called n, or a single "
                  "integer)",
                  loaded.kernel->entry().expression));
}

Context& context_of(const nb::args& args, const Options& options) {
  for (const nb::handle value : args) {
    if (nb::isinstance<Array>(value)) return nb::inst_ptr<Array>(value)->context();
  }
  for (const nb::handle value : args) {
    if (nb::hasattr(value, "__cuda_array_interface__")) return *session().open("cuda:0").context;
  }
  return *place_from(nb::none(), options.stream.is_valid() ? options.stream : nb::none()).context;
}

void launch(PythonKernel& self, const nb::args& args, const nb::kwargs& keywords) {
  const Options options = options_from(keywords);
  Context& context = context_of(args, options);
  const Loaded& loaded = load(self, context);
  const jit::Entry& entry = loaded.kernel->entry();
  GPUFORGE_CHECK(args.size() == loaded.slots.size(), "{} takes {} argument{}, got {}", entry.expression,
                 loaded.slots.size(), loaded.slots.size() == 1 ? "" : "s", args.size());
  GPUFORGE_CHECK(args.size() <= kOnStack, "launch: at most {} arguments can be passed from Python", kOnStack);
  Launch filled;
  std::vector<nb::object> kept;
  fill_arguments(filled, loaded, args, kept);

  device::LaunchConfig config;
  config.block = options.block.is_valid() ? dim3_from(options.block, "block") : self.block;
  if (options.grid.is_valid()) {
    config.grid = dim3_from(options.grid, "grid");
  } else {
    config.grid = jit::grid_for(elements_of(filled, loaded), config.block, context.device().facts().launch);
  }
  if (options.shared.is_valid()) config.dynamic_shared_bytes = nb::cast<std::size_t>(options.shared);
  if (options.cluster.is_valid()) config.cluster = dim3_from(options.cluster, "cluster");
  if (options.cooperative.is_valid()) config.cooperative = nb::cast<bool>(options.cooperative);

  std::shared_ptr<device::Stream> other;
  if (options.stream.is_valid()) {
    other = filled.array_count > 0 ? stream_for(*filled.arrays[0], options.stream)
                                   : place_from(nb::none(), options.stream).stream;
  }
  device::Stream& stream = other ? *other : *session().stream_of(context);
  const std::span arguments(filled.arguments.data(), args.size());
  if (loaded.simulated != nullptr) {
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < filled.array_count; ++i) arrays.push_back(*filled.arrays[i]);
    loaded.simulated->launch(loaded.kernel, config, arguments, arrays, stream);
    return;
  }
  std::vector<memory::Hold> holds;  // empty where nothing is evicted
  for (std::size_t i = 0; i < filled.array_count; ++i) {
    if (memory::Hold hold = filled.arrays[i]->record_use(stream)) holds.push_back(std::move(hold));
  }
  loaded.kernel->launch(config, arguments, stream);
}

jit::KernelSource source_from(nb::handle source, const std::vector<std::string>& options,
                              const std::vector<std::string>& defines,
                              const std::vector<std::string>& include_dirs, const std::string& func) {
  jit::KernelSource made;
  const bool is_path = !nb::isinstance<nb::str>(source);
  const std::string text = nb::cast<std::string>(
      is_path ? nb::object(nb::module_::import_("os").attr("fspath")(source)) : nb::borrow(source));
  // Text that is one line ending in .cu is a file's name.
  const bool names_file = is_path || (text.find('\n') == std::string::npos && text.ends_with(".cu"));
  if (names_file) {
    made = jit::source_from_file(text);
  } else {
    made.name = "<kernel>.cu";
    made.text = text;
  }
  made.options = options;
  made.defines = defines;
  for (const std::string& folder : include_dirs) made.include_dirs.emplace_back(folder);
  if (func.find('<') != std::string::npos) made.instantiations.push_back(func);
  return made;
}

nb::list parameters_of(PythonKernel& self, Context& context) {
  nb::list list;
  for (const jit::Parameter& parameter : load(self, context).kernel->entry().parameters) {
    nb::dict each;
    each["name"] = parameter.name;
    each["type"] = parameter.declared_type.empty() ? parameter.ptx_type : parameter.declared_type;
    each["bytes"] = parameter.bytes;
    list.append(each);
  }
  return list;
}

}  // namespace

void bind_jit(nb::module_& m) {
  const auto make = [](nb::handle source, std::string func, std::vector<std::string> options,
                       std::vector<std::string> defines, std::vector<std::string> include_dirs,
                       nb::handle block_size) {
    jit::KernelSource text = source_from(source, options, defines, include_dirs, func);
    return std::make_unique<PythonKernel>(std::move(text), std::move(func),
                                          dim3_from(block_size, "block_size"));
  };
  nb::class_<PythonKernel>(
      m, "Kernel",
      "A kernel of CUDA C++. Call it with arrays and numbers; it is compiled for a device at its first "
      "launch there.")
      .def("__call__", &launch,
           nb::sig(
               "def __call__(self, *args: object, grid: object = None, block: object = None, stream: object "
               "= None, shared: int | None = None, cluster: object = None, cooperative: bool | None = None) "
               "-> None"))
      .def(
          "launch", &launch,
          nb::sig("def launch(self, *args: object, grid: object = None, block: object = None, stream: object "
                  "= None, shared: int | None = None, cluster: object = None, cooperative: bool | None = "
                  "None) -> None"))
      .def(
          "compile",
          [](PythonKernel& self, nb::handle device_name) {
            load(self, *place_from(device_name, nb::none()).context);
          },
          nb::arg("device") = nb::none(), nb::sig("def compile(self, device: str | None = None) -> None"),
          "Compiles it for a device now. A mistake in the text is a CompileError.")
      .def_prop_ro("name", [](const PythonKernel& self) { return self.entry; })
      .def_prop_ro("source", [](const PythonKernel& self) { return self.source.source().text; })
      .def_prop_ro(
          "block_size",
          [](const PythonKernel& self) { return nb::make_tuple(self.block.x, self.block.y, self.block.z); },
          nb::sig("def block_size(self) -> tuple[int, int, int]"))
      .def_prop_ro("is_compiled", [](const PythonKernel& self) { return !self.loaded.empty(); })
      .def(
          "parameters",
          [](PythonKernel& self, nb::handle device_name) {
            return parameters_of(self, *place_from(device_name, nb::none()).context);
          },
          nb::arg("device") = nb::none(),
          nb::sig("def parameters(self, device: str | None = None) -> list[dict[str, typing.Any]]"))
      .def(
          "ptx",
          [](PythonKernel& self, nb::handle device_name) {
            return load(self, *place_from(device_name, nb::none()).context).kernel->compiled().ptx;
          },
          nb::arg("device") = nb::none(), nb::sig("def ptx(self, device: str | None = None) -> str"))
      .def(
          "resources",
          [](PythonKernel& self, nb::handle device_name) {
            const jit::Kernel& kernel = *load(self, *place_from(device_name, nb::none()).context).kernel;
            nb::dict info;
            info["registers"] = kernel.entry().registers;
            info["static_shared_bytes"] = kernel.entry().static_shared_bytes;
            info["spill_store_bytes"] = kernel.entry().spill_store_bytes;
            info["spill_load_bytes"] = kernel.entry().spill_load_bytes;
            info["max_threads_per_block"] = kernel.function().facts().max_threads_per_block;
            info["compile_ms"] = kernel.compiled().compile_ms;
            info["from_cache"] = kernel.compiled().from_cache;
            return info;
          },
          nb::arg("device") = nb::none(),
          nb::sig("def resources(self, device: str | None = None) -> dict[str, typing.Any]"));
  m.def("_make_kernel", make, nb::arg("source"), nb::arg("func"), nb::arg("options"), nb::arg("defines"),
        nb::arg("include_dirs"), nb::arg("block_size"));
}

}  // namespace gpuforge::python
