// Memory pools and where the time goes.
#include "gpuforge/base/file.h"
#include "gpuforge/base/trace.h"
#include "gpuforge/context/profiler.h"
#include "gpuforge/memory/pool.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

nb::dict statistics_dict(const memory::PoolStatistics& statistics) {
  nb::dict info;
  info["device"] = statistics.device;
  info["quota"] = statistics.quota_bytes;
  info["used"] = statistics.block_bytes;
  info["requested"] = statistics.requested_bytes;
  info["cached"] = statistics.cached_bytes;
  info["reserved"] = statistics.reserved_bytes;
  info["peak_reserved"] = statistics.peak_reserved_bytes;
  info["evicted"] = statistics.evicted_bytes;
  info["active_blocks"] = statistics.blocks;
  info["allocation_count"] = statistics.allocations;
  info["reuse_count"] = statistics.reuses;
  info["eviction_count"] = statistics.evictions;
  nb::dict tags;
  for (const memory::TagUse& use : statistics.tags) tags[use.tag.c_str()] = use.requested_bytes;
  info["tags"] = tags;
  return info;
}

struct PythonPool {
  std::shared_ptr<Context> context;
  std::shared_ptr<memory::Pool> pool;
};

struct PythonProfiler {
  std::shared_ptr<Context> context;
  std::shared_ptr<Profiler> profiler;
  std::unique_ptr<KernelRanges> kernels;  // while started
  std::vector<std::unique_ptr<ProfileRange>> ranges;
};

}  // namespace

void bind_memory(nb::module_& m) {
  nb::module_ sub = m.def_submodule("memory", "Where arrays' memory comes from.");
  nb::class_<PythonPool>(sub, "MemoryPool",
                         "Memory of a device with a quota, that is kept and handed out again.")
      .def(
          "__init__",
          [](PythonPool* self, std::size_t quota, nb::handle device_name) {
            const Place place = place_from(device_name, nb::none());
            memory::PoolOptions options;
            options.quota_bytes = quota;
            new (self) PythonPool{place.context,
                                  memory::make_pool(place.context->device().shared_from_this(), options)};
          },
          nb::arg("quota") = 0, nb::arg("device") = nb::none(),
          nb::sig("def __init__(self, quota: int = 0, device: str | None = None) -> None"))
      .def(
          "empty",
          [](PythonPool& self, nb::handle shape, nb::handle dtype, const std::string& tag, bool evictable) {
            std::shared_ptr<memory::Allocator> from = self.pool;
            if (!tag.empty() || evictable)
              from = self.pool->tagged(tag, evictable ? memory::Use::evictable : memory::Use::resident);
            const Shape extents = dims_from(shape, "shape");
            const DType wanted = dtype_or_none(dtype).value_or(DType::f32);
            const auto stream = session().stream_of(*self.context);
            return released([&] { return empty(self.context, extents, wanted, *stream, from); });
          },
          nb::arg("shape"), nb::arg("dtype") = "float32", nb::kw_only(), nb::arg("tag") = "",
          nb::arg("evictable") = false,
          nb::sig("def empty(self, shape: int | collections.abc.Sequence[int], dtype: object = 'float32', *, "
                  "tag: str = '', evictable: bool = "
                  "False) -> gpuforge._core.Array"),
          "An array from this pool. An evictable one may lose its memory to the host while nobody uses it.")
      .def(
          "evict",
          [](PythonPool& self, const Array& array) { return self.pool->evict(array.storage_address()); },
          nb::arg("array"), "An idle evictable array goes to the host now; False when it cannot.")
      .def(
          "resident",
          [](PythonPool& self, const Array& array) { return self.pool->resident(array.storage_address()); },
          nb::arg("array"))
      .def(
          "trim", [](PythonPool& self) { return released([&] { return self.pool->trim(); }); },
          "Gives back what is cached and idle: the bytes.")
      .def(
          "can_reserve", [](PythonPool& self, std::size_t bytes) { return self.pool->can_reserve(bytes); },
          nb::arg("bytes"))
      .def(
          "stats", [](PythonPool& self) { return statistics_dict(self.pool->statistics()); },
          nb::sig("def stats(self) -> dict[str, typing.Any]"))
      .def_prop_ro("quota", [](PythonPool& self) { return self.pool->statistics().quota_bytes; })
      .def_prop_ro("used", [](PythonPool& self) { return self.pool->statistics().block_bytes; })
      .def("__repr__", [](PythonPool& self) { return memory::to_string(self.pool->statistics()); });
  sub.def(
      "default_pool",
      [](nb::handle device_name) {
        const Place place = place_from(device_name, nb::none());
        if (place.context->pool() == nullptr)
          throw Error(
              ErrorCode::unsupported,
              format_text(
                  "memory: arrays of {} come from no pool: the simulator checks each allocation by itself",
                  place.context->device().facts().name));
        return PythonPool{place.context, place.context->pool()};
      },
      nb::arg("device") = nb::none(), nb::sig("def default_pool(device: str | None = None) -> MemoryPool"),
      "The pool that arrays come from which name none.");

  nb::module_ profiling = m.def_submodule("profiling", "Where the time of a device goes.");
  nb::class_<PythonProfiler>(profiling, "Profiler",
                             "Times ranges of a stream's work, and every kernel while it is started.")
      .def(
          "__init__",
          [](PythonProfiler* self, nb::handle device_name) {
            const Place place = place_from(device_name, nb::none());
            new (self) PythonProfiler{place.context,
                                      std::make_shared<Profiler>(place.context->device().shared_from_this()),
                                      nullptr,
                                      {}};
          },
          nb::arg("device") = nb::none(), nb::sig("def __init__(self, device: str | None = None) -> None"))
      .def(
          "start",
          [](PythonProfiler& self) {
            if (self.kernels == nullptr)
              self.kernels = std::make_unique<KernelRanges>(*self.profiler, self.context->jit());
          },
          "From now on each kernel of the device is a range.")
      .def("stop", [](PythonProfiler& self) { self.kernels.reset(); })
      .def(
          "_begin",
          [](PythonProfiler& self, const std::string& name, double flops, double bytes) {
            self.ranges.push_back(std::make_unique<ProfileRange>(
                self.profiler.get(), *session().stream_of(*self.context), name, flops, bytes));
          },
          nb::arg("name"), nb::arg("flops"), nb::arg("bytes"))
      .def("_end", [](PythonProfiler& self) { self.ranges.pop_back(); })
      .def(
          "report",
          [](PythonProfiler& self) {
            const ProfileReport report = released([&] { return self.profiler->report(); });
            return json_value(to_json(report));
          },
          nb::sig("def report(self) -> dict[str, typing.Any]"))
      .def("summary",
           [](PythonProfiler& self) { return released([&] { return to_text(self.profiler->report()); }); })
      .def(
          "export_chrome_trace",
          [](PythonProfiler& self, const std::string& path) {
            released([&] { write_file(path, chrome_trace(trace_events(self.profiler->report())).dump()); });
          },
          nb::arg("path"), "For Perfetto or chrome://tracing.")
      .def("clear", [](PythonProfiler& self) { self.profiler->clear(); });
}

}  // namespace gpuforge::python
