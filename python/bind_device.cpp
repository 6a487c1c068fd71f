// Devices, streams, events and graphs.
#include "gpuforge/cuda/nvrtc.h"
#include "gpuforge/device/open_device.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

nb::dict facts_dict(const device::DeviceFacts& facts) {
  nb::dict info;
  info["device"] = facts.name;
  info["name"] = facts.product;
  info["kind"] = std::string(name(facts.kind));
  info["total_memory"] = facts.memory_bytes;
  info["compute_capability"] = nb::make_tuple(facts.compute_major, facts.compute_minor);
  info["multiprocessor_count"] = facts.multiprocessors;
  info["max_threads_per_block"] = facts.launch.max_threads_per_block;
  info["max_shared_memory_per_block"] = facts.launch.max_shared_per_block;
  info["warp_size"] = facts.launch.warp_size;
  info["l2_bytes"] = facts.l2_bytes;
  info["driver_version"] = facts.driver_version;
  return info;
}

// A graph and the device it belongs to; made by a capture.
struct PythonGraph {
  std::shared_ptr<Context> context;
  std::shared_ptr<device::Stream> stream;  // that it is captured on
  std::shared_ptr<device::Graph> graph;    // nothing before the capture has ended
};

device::Graph& ready(PythonGraph& self) {
  if (self.graph == nullptr)
    throw Error(ErrorCode::invalid_argument, "graph: nothing was captured yet; use it in a with statement");
  return *self.graph;
}

void bind_streams(nb::module_& m) {
  nb::class_<device::Stream>(
      m, "Stream",
      "An ordered queue of work. `with stream:` makes it where this thread's work on its "
      "device goes.")
      .def(nb::new_([](std::optional<std::string> device_name, int priority) {
             const Place place = place_from(nb::cast(device_name), nb::none());
             return released([&] { return place.context->make_stream(priority); });
           }),
           nb::arg("device") = nb::none(), nb::arg("priority") = 0)
      .def_prop_ro("device", [](device::Stream& self) { return self.device().facts().name; })
      .def_prop_ro(
          "handle", [](device::Stream& self) { return self.native_handle(); },
          "The driver's handle (a CUstream); 0 where there is none.")
      .def(
          "__cuda_stream__", [](device::Stream& self) { return nb::make_tuple(0, self.native_handle()); },
          nb::sig("def __cuda_stream__(self) -> tuple[int, int]"))
      .def_prop_ro("done", [](device::Stream& self) { return self.done(); })
      .def_prop_ro("capturing", [](device::Stream& self) { return self.capturing(); })
      .def(
          "synchronize", [](device::Stream& self) { released([&] { self.synchronize(); }); },
          "Waits for all that was queued here, and raises what went wrong in it.")
      .def(
          "wait", [](device::Stream& self, device::Event& event) { self.wait(event); }, nb::arg("event"),
          "What is queued from now on runs after the event.")
      .def(
          "record", [](device::Stream& self, device::Event& event) { self.record(event); }, nb::arg("event"))
      .def("__enter__",
           [](device::Stream& self) {
             push_stream(self);
             return self.shared_from_this();
           })
      .def(
          "__exit__", [](device::Stream&, nb::args) { pop_stream(); },
          nb::sig("def __exit__(self, *exc: object) -> None"));

  nb::class_<device::Event>(m, "Event", "A point in a stream's order, with a time.")
      .def(nb::new_([](std::optional<std::string> device_name, bool timing) {
             const Place place = place_from(nb::cast(device_name), nb::none());
             return std::shared_ptr<device::Event>(place.context->device().make_event(timing));
           }),
           nb::arg("device") = nb::none(), nb::arg("timing") = true)
      .def(
          "record",
          [](device::Event& self, nb::handle stream) {
            place_from(nb::str(self.device().facts().name.c_str()), stream).stream->record(self);
          },
          nb::arg("stream") = nb::none(),
          nb::sig("def record(self, stream: Stream | int | None = None) -> None"))
      .def_prop_ro("done", [](device::Event& self) { return self.done(); })
      .def("synchronize", [](device::Event& self) { released([&] { self.synchronize(); }); })
      .def(
          "elapsed_ms_since",
          [](device::Event& self, device::Event& earlier) { return self.elapsed_ms_since(earlier); },
          nb::arg("earlier"), "Milliseconds from `earlier` to this; both recorded and done.");
}

void bind_graphs(nb::module_& m) {
  nb::class_<PythonGraph>(m, "Graph",
                          "Recorded work that replays as one.\n\n"
                          "Work inside `with graph.capture():` is recorded and not run; launch() runs it.")
      .def(
          "__init__",
          [](PythonGraph* self, nb::handle device_name) {
            const Place place = place_from(device_name, nb::none());
            new (self) PythonGraph{place.context, nullptr, nullptr};
          },
          nb::arg("device") = nb::none(), nb::sig("def __init__(self, device: str | None = None) -> None"))
      .def("_begin",
           [](PythonGraph& self) {
             self.stream = released([&] { return self.context->make_stream(); });
             self.stream->begin_capture();
             push_stream(*self.stream);
           })
      .def(
          "_end",
          [](PythonGraph& self, bool keep) {
            pop_stream();
            const auto stream = std::exchange(self.stream, nullptr);
            std::shared_ptr<device::Graph> graph = released([&] { return stream->end_capture(); });
            if (keep) self.graph = std::move(graph);
          },
          nb::arg("keep"))
      .def_prop_ro("node_count", [](PythonGraph& self) { return ready(self).node_count(); })
      .def(
          "launch",
          [](PythonGraph& self, nb::handle stream) {
            const std::string device_name = self.context->device().facts().name;
            const Place place = place_from(nb::str(device_name.c_str()), stream);
            released([&] { ready(self).launch(*place.stream); });
          },
          nb::arg("stream") = nb::none(),
          nb::sig("def launch(self, stream: Stream | int | None = None) -> None"))
      .def(
          "update", [](PythonGraph& self, PythonGraph& other) { ready(self).update(ready(other)); },
          nb::arg("other"), "Takes over the work of `other`, recorded with the same shape.");
}

}  // namespace

void bind_device(nb::module_& m) {
  bind_streams(m);
  bind_graphs(m);
  m.def(
      "get_device_info",
      [](nb::handle device_name) {
        return facts_dict(place_from(device_name, nb::none()).context->device().facts());
      },
      nb::arg("device") = nb::none(),
      nb::sig("def get_device_info(device: str | None = None) -> dict[str, typing.Any]"),
      "What is known of a device.\n\n>>> gf.get_device_info('sim')['compute_capability']\n(9, 0)");
  m.def(
      "memory_info",
      [](nb::handle device_name) {
        const device::MemoryInfo info = place_from(device_name, nb::none()).context->device().memory_info();
        return std::make_pair(info.free_bytes, info.total_bytes);
      },
      nb::arg("device") = nb::none(),
      nb::sig("def memory_info(device: str | None = None) -> tuple[int, int]"),
      "Bytes that are free, and all of them.");
  m.def(
      "devices",
      [] {
        nb::list list;
        const auto found = released([] { return device::list_devices(session().search()); });
        for (const device::DeviceListing& listing : found) {
          nb::dict info = facts_dict(listing.facts);
          info["usable"] = listing.usable;
          info["reason"] = listing.reason;
          list.append(info);
        }
        return list;
      },
      nb::sig("def devices() -> list[dict[str, typing.Any]]"),
      "What there is here, usable or not, and why not.");
  m.def(
      "is_cuda_available",
      [] {
        return released([] {
          for (const device::DeviceListing& listing : device::list_devices(session().search())) {
            if (listing.facts.kind == device::DeviceKind::cuda && listing.usable) return true;
          }
          return false;
        });
      },
      "Whether a GPU can be used. Never raises.");
  m.def(
      "is_nvrtc_available",
      [] {
        return released([] {
          return !cuda::find_library(cuda::LibraryKind::nvrtc, session().search()).empty() &&
                 cuda::SharedLibrary::open_first(cuda::LibraryKind::nvrtc, session().search(), nullptr)
                     .has_value();
        });
      },
      "Whether NVIDIA's run-time compiler is here. Never raises.");
  m.def(
      "synchronize",
      [](nb::handle device_name) {
        const Place place = place_from(device_name, nb::none());
        released([&] { place.context->device().synchronize(); });
      },
      nb::arg("device") = nb::none(), nb::sig("def synchronize(device: str | None = None) -> None"),
      "Waits for all work of a device, and raises what went wrong in it.");
  m.def(
      "set_default_device",
      [](std::optional<std::string> device_name) {
        released([&] { session().set_default_device(std::move(device_name)); });
      },
      nb::arg("device").none(),
      "Where arrays go that name no device: 'cuda:0', 'sim', 'cpu'; None: the best there is.");
  m.def("get_default_device",
        [] { return released([] { return session().open_default().context->device().facts().name; }); });
  m.def(
      "current_stream", [](nb::handle device_name) { return place_from(device_name, nb::none()).stream; },
      nb::arg("device") = nb::none(), nb::sig("def current_stream(device: str | None = None) -> Stream"));
  m.def(
      "external_stream",
      [](nb::handle stream, nb::handle device_name) { return place_from(device_name, stream).stream; },
      nb::arg("stream"), nb::arg("device") = nb::none(),
      nb::sig("def external_stream(stream: object, device: str | None = None) -> Stream"),
      "A stream of another library: its handle, or an object with __cuda_stream__.");
  m.def("_push_device", [](std::string device_name) {
    released([&] { session().open(device_name); });
    push_device(std::move(device_name));
  });
  m.def("_pop_device", [] { pop_device(); });
}

}  // namespace gpuforge::python
