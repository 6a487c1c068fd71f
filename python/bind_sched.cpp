// The scheduler on a device: tasks whose pieces are Python functions.
#include <atomic>

#include "gpuforge/sched/executor.h"
#include "python/bind.h"

namespace gpuforge::python {
namespace {

// What a body raised, for who waits for the task.
struct Raised {
  nb::object error;
  ~Raised() {
    if (!nb::is_alive()) {
      error.release();
      return;
    }
    const nb::gil_scoped_acquire acquire;
    error.reset();
  }
};

// Calls a Python function for each piece, on the executor's thread; it returns true while there is more.
class PythonBody final : public sched::Body {
 public:
  PythonBody(nb::object function, std::shared_ptr<Raised> raised)
      : function_(std::move(function)), raised_(std::move(raised)) {}
  ~PythonBody() override {
    if (!nb::is_alive()) {
      function_.release();
      return;
    }
    const nb::gil_scoped_acquire acquire;
    function_.reset();
  }

  void submit(sched::Piece& piece) override {
    const nb::gil_scoped_acquire acquire;
    push_stream(piece.stream);
    try {
      more_ = nb::cast<bool>(nb::bool_(function_()));
      pop_stream();
    } catch (nb::python_error& error) {
      pop_stream();
      raised_->error = nb::borrow(error.value());
      throw Error(ErrorCode::invalid_argument, format_text("task: its function raised {}", error.what()));
    } catch (...) {
      pop_stream();
      throw;
    }
  }
  sched::After done(double) override { return more_ ? sched::After::more : sched::After::finished; }

 private:
  nb::object function_;
  std::shared_ptr<Raised> raised_;
  bool more_ = false;
};

struct PythonScheduler {
  PythonScheduler(std::shared_ptr<Context> kept_context, sched::SchedulerConfig config)
      : context(std::move(kept_context)),
        executor(std::make_unique<sched::Executor>(context->device().shared_from_this(), std::move(config))) {
  }
  PythonScheduler(const PythonScheduler&) = delete;
  PythonScheduler& operator=(const PythonScheduler&) = delete;
  ~PythonScheduler() { close(); }
  // Joins the executor's thread, which may wait for the interpreter's lock.
  void close() {
    if (executor == nullptr) return;
    const nb::gil_scoped_release release;
    executor.reset();
  }
  sched::Executor& running() {
    if (executor == nullptr) throw Error(ErrorCode::invalid_argument, "scheduler: it was closed");
    return *executor;
  }

  std::shared_ptr<Context> context;
  std::unique_ptr<sched::Executor> executor;
};

// Keeps its scheduler.
struct PythonTask {
  // Without the interpreter's lock: whoever has the executor's may wait for it.
  sched::TaskStatus status() const {
    return released([&] { return scheduler->running().status(id); });
  }

  std::shared_ptr<PythonScheduler> scheduler;
  sched::TaskId id;
  std::shared_ptr<Raised> raised;
};

nb::dict status_dict(const sched::TaskStatus& status) {
  nb::dict info;
  info["name"] = status.task.name;
  info["qos"] = std::string(name(status.task.qos));
  info["state"] = std::string(name(status.state));
  info["reserved_bytes"] = status.reserved_bytes;
  info["granted_bytes"] = status.granted_bytes;
  info["waited_us"] = status.waited_us;
  info["used_us"] = status.used_us;
  info["share"] = status.share();
  info["pieces"] = status.pieces;
  info["preemptions"] = status.preemptions;
  info["message"] = status.message;
  return info;
}

void wait(PythonTask& self) {
  released([&] { self.scheduler->running().wait(self.id); });
  const sched::TaskStatus status = self.status();
  if (status.state == sched::TaskState::completed) return;
  if (self.raised->error.is_valid()) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(self.raised->error.ptr())), self.raised->error.ptr());
    throw nb::python_error();
  }
  throw Error(ErrorCode::unavailable,
              format_text("task {}: {}: {}", status.task.name, name(status.state), status.message));
}

PythonTask submit(std::shared_ptr<PythonScheduler> self, nb::object function, std::string task_name,
                  const std::string& qos, int priority, std::uint64_t memory,
                  std::optional<std::uint64_t> memory_limit, double compute, double compute_limit,
                  std::vector<std::string> after, std::optional<double> deadline_ms, std::string partition) {
  const auto parsed = sched::parse_qos(qos);
  GPUFORGE_CHECK(parsed.has_value(),
                 "submit: qos: guaranteed, burstable or best_effort was expected, got '{}'", qos);
  static std::atomic<std::uint64_t> unnamed = 0;
  sched::Task task;
  task.name = task_name.empty() ? format_text("task-{}", ++unnamed) : std::move(task_name);
  task.qos = *parsed;
  task.priority = priority;
  task.memory = {memory, memory_limit.value_or(memory)};
  task.compute = {compute, compute_limit};
  task.after = std::move(after);
  task.partition = std::move(partition);
  task.arrive_us = self->running().now_us();
  if (deadline_ms) task.deadline_us = *deadline_ms * 1000;
  auto raised = std::make_shared<Raised>();
  auto body = std::make_unique<PythonBody>(std::move(function), raised);
  sched::Executor& executor = self->running();
  const sched::TaskId id = released([&] { return executor.submit(std::move(task), std::move(body)); });
  return {std::move(self), id, std::move(raised)};
}

}  // namespace

void bind_sched(nb::module_& m) {
  nb::module_ sub = m.def_submodule("scheduler", "Who may use a device when.");
  nb::class_<PythonTask>(sub, "Task", "Work that a scheduler runs in pieces. Awaitable.")
      .def("wait", &wait, "Until it has ended; raises what its function raised.")
      .def("cancel",
           [](PythonTask& self) {
             return released([&] { return self.scheduler->running().cancel(self.id); });
           })
      .def(
          "status", [](PythonTask& self) { return status_dict(self.status()); },
          nb::sig("def status(self) -> dict[str, typing.Any]"))
      .def_prop_ro("state", [](PythonTask& self) { return std::string(name(self.status().state)); })
      .def_prop_ro("name", [](PythonTask& self) { return self.status().task.name; })
      .def(
          "__await__",
          [](nb::handle self) {
            const nb::object loop = nb::module_::import_("asyncio").attr("get_running_loop")();
            return loop.attr("run_in_executor")(nb::none(), self.attr("wait")).attr("__await__")();
          },
          nb::sig("def __await__(self) -> collections.abc.Generator[typing.Any, None, None]"));
  nb::class_<PythonScheduler>(sub, "Scheduler",
                              "Admits tasks by memory and shares, and gives each its turns on the device.")
      .def(nb::new_([](std::optional<std::string> device_name, std::uint64_t memory, int slots) {
             const Place place = place_from(nb::cast(device_name), nb::none());
             sched::SchedulerConfig config;
             config.memory_bytes = memory != 0 ? memory : place.context->device().facts().memory_bytes;
             config.slots = slots;
             return std::make_shared<PythonScheduler>(place.context, std::move(config));
           }),
           nb::arg("device") = nb::none(), nb::arg("memory") = 0, nb::arg("slots") = 1)
      .def("submit", &submit, nb::arg("function"), nb::arg("name") = "", nb::kw_only(),
           nb::arg("qos") = "best_effort", nb::arg("priority") = 0, nb::arg("memory") = 0,
           nb::arg("memory_limit") = nb::none(), nb::arg("compute") = 0.0, nb::arg("compute_limit") = 1.0,
           nb::arg("after") = std::vector<std::string>(), nb::arg("deadline_ms") = nb::none(),
           nb::arg("partition") = "",
           "A function that queues one piece of work (arrays of its thread go to the task's stream) and "
           "returns True while there "
           "is more.")
      .def("wait_all", [](PythonScheduler& self) { released([&] { self.running().wait_all(); }); })
      .def(
          "cancel_all",
          [](PythonScheduler& self, std::string message) {
            released([&] { self.running().cancel_all(std::move(message)); });
          },
          nb::arg("message") = "cancelled")
      .def(
          "report",
          [](PythonScheduler& self) {
            const sched::RunReport report = released([&] { return self.running().report(); });
            return json_value(sched::to_json(report, true));
          },
          nb::sig("def report(self) -> dict[str, typing.Any]"),
          "Tasks, partitions, and every decision with its reason.")
      .def(
          "close", [](PythonScheduler& self) { self.close(); },
          "Cancels what has not ended and waits for the rest.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> Scheduler"))
      .def(
          "__exit__", [](PythonScheduler& self, nb::args) { self.close(); },
          nb::sig("def __exit__(self, *exc: object) -> None"));
}

}  // namespace gpuforge::python
