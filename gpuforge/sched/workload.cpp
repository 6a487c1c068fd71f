#include "gpuforge/sched/workload.h"

#include <algorithm>
#include <limits>
#include <map>

#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/base/suggest.h"
#include "gpuforge/base/yaml.h"
#include "gpuforge/sched/workload_expect.h"
#include "gpuforge/sched/workload_values.h"

namespace gpuforge::sched {
namespace {

constexpr std::size_t kMostTasks = 100'000;
constexpr std::int64_t kMostPieces = 10'000'000;
constexpr std::size_t kMostWaits = 1'000'000;

void read_kernel(const Yaml& yaml, KernelStep& step) {
  step.kind = KernelStep::Kind::kernel;
  step.kernel = yaml.at("kernel").text();
  if (step.kernel.empty())
    yaml.at("kernel").fail("expected the name of an op or of a kernel file; found nothing");
  step.shape = yaml.at("shape").text();
  if (const Yaml* dtype = yaml.find("dtype")) step.dtype = dtype->text();
  if (const Yaml* variant = yaml.find("variant")) step.variant = variant->text();
  if (const Yaml* takes = yaml.find("takes")) {
    step.duration_us = read_duration(*takes);
    if (step.duration_us < 0.1) takes->fail("expected a kernel of at least 100ns; found " + takes->text());
  }
}

KernelStep read_step(const Yaml& yaml) {
  yaml.allow_keys(
      {"spin", "stream", "kernel", "shape", "dtype", "variant", "takes", "vary", "count", "waves", "fails"});
  KernelStep step{.line = yaml.line()};
  const Yaml* const spin = yaml.find("spin");
  const Yaml* const stream = yaml.find("stream");
  const Yaml* const kernel = yaml.find("kernel");
  if ((spin != nullptr) + (stream != nullptr) + (kernel != nullptr) != 1) {
    yaml.fail(
        "expected one of 'spin' (a time, such as 200us), 'stream' (a size, such as 64MiB) and 'kernel' (an "
        "op "
        "or a file, such as scale.cu) to say what the kernel does");
  }
  for (const char* const key : {"shape", "dtype", "variant", "takes"}) {
    if (const Yaml* found = yaml.find(key); found != nullptr && kernel == nullptr)
      found->fail(format_text("'{}' goes with 'kernel'", key));
  }
  if (kernel != nullptr) {
    read_kernel(yaml, step);
  } else if (spin != nullptr) {
    step.duration_us = read_duration(*spin);
    if (step.duration_us < 0.1) spin->fail("expected a kernel of at least 100ns; found " + spin->text());
  } else {
    step.kind = KernelStep::Kind::stream;
    step.bytes = read_bytes(*stream);
    if (step.bytes == 0) stream->fail("expected a kernel that moves at least 1 byte; found 0");
  }
  if (const Yaml* vary = yaml.find("vary")) step.vary = read_share(*vary);
  if (const Yaml* count = yaml.find("count"))
    step.count = static_cast<int>(read_whole(*count, 1, 10'000'000));
  if (const Yaml* waves = yaml.find("waves")) {
    if (spin == nullptr) waves->fail("'waves' goes with 'spin': of blocks, one after the other");
    step.waves = static_cast<int>(read_whole(*waves, 1, 1000));
  }
  if (const Yaml* fails = yaml.find("fails")) {
    step.failure = fails->text();
    if (step.failure.empty()) fails->fail("expected the message that the kernel fails with; found nothing");
  }
  return step;
}

MemoryAmount read_memory(const Yaml& yaml, Qos qos) {
  if (!yaml.is_map()) {
    const std::uint64_t bytes = read_bytes(yaml);
    return {.request = qos == Qos::best_effort ? 0 : bytes, .limit = bytes};
  }
  yaml.allow_keys({"request", "limit"});
  const Yaml* const request = yaml.find("request");
  const Yaml* const limit = yaml.find("limit");
  if (request == nullptr && limit == nullptr) yaml.fail("expected 'request', 'limit' or both");
  MemoryAmount amount;
  amount.limit = read_bytes(limit != nullptr ? *limit : *request);
  if (request != nullptr) amount.request = read_bytes(*request);
  if (request == nullptr && qos == Qos::guaranteed) amount.request = amount.limit;
  return amount;
}

Share read_share_amount(const Yaml* yaml) {
  Share share;
  if (yaml == nullptr) return share;
  if (!yaml->is_map()) {
    share.request = read_share(*yaml);
    return share;
  }
  yaml->allow_keys({"request", "limit"});
  if (const Yaml* request = yaml->find("request")) share.request = read_share(*request);
  if (const Yaml* limit = yaml->find("limit")) share.limit = read_share(*limit);
  return share;
}

Qos read_class(const Yaml& yaml) {
  if (const auto qos = parse_qos(yaml.text())) return *qos;
  std::vector<std::string> names;
  for (const Qos qos : {Qos::guaranteed, Qos::burstable, Qos::best_effort}) names.emplace_back(name(qos));
  yaml.fail(format_text("expected the class guaranteed, burstable or best_effort; found '{}'{}", yaml.text(),
                        did_you_mean(yaml.text(), names)));
}

class Reader {
 public:
  explicit Reader(Workload& workload) : workload_(workload) {}

  void read(const Yaml& root) {
    root.allow_keys({"device", "partitions", "seed", "until", "tasks", "expect"});
    if (const Yaml* device = root.find("device")) read_device(*device);
    if (const Yaml* partitions = root.find("partitions")) read_partitions(*partitions);
    if (const Yaml* seed = root.find("seed"))
      workload_.seed = static_cast<std::uint64_t>(read_whole(*seed, 0, INT64_MAX));
    if (const Yaml* until = root.find("until")) workload_.until_us = read_duration(*until);
    const Yaml& tasks = root.at("tasks");
    for (const Yaml& task : tasks.list()) read_task(task);
    if (workload_.tasks.empty()) tasks.fail("expected at least one task");
    resolve_names();
    check_whole(tasks);
    if (const Yaml* expect = root.find("expect")) {
      for (const Yaml& item : expect->list())
        workload_.expectations.push_back(read_expectation(item, task_names()));
    }
  }

 private:
  void read_device(const Yaml& yaml) {
    yaml.allow_keys({"memory", "slots", "ageing", "patience", "burst", "stream_gb_per_s"});
    SchedulerConfig& config = workload_.config;
    if (const Yaml* memory = yaml.find("memory")) {
      config.memory_bytes = read_bytes(*memory);
      workload_.knows_memory = true;
    }
    if (const Yaml* slots = yaml.find("slots")) config.slots = static_cast<int>(read_whole(*slots, 1, 1024));
    if (const Yaml* ageing = yaml.find("ageing")) config.ageing_us = read_duration(*ageing);
    if (const Yaml* patience = yaml.find("patience")) config.patience_us = read_duration(*patience);
    if (const Yaml* burst = yaml.find("burst")) config.burst_us = read_duration(*burst);
    if (const Yaml* speed = yaml.find("stream_gb_per_s")) {
      workload_.stream_gb_per_s = speed->number();
      if (!(workload_.stream_gb_per_s >= 0.001 && workload_.stream_gb_per_s <= 1e6))
        speed->fail(format_text("expected 0.001 to 1000000 GB/s; found {}", speed->text()));
    }
  }

  void read_partitions(const Yaml& yaml) {
    for (const Yaml& item : yaml.list()) {
      item.allow_keys({"name", "memory", "compute", "bandwidth", "streams", "queue"});
      Partition partition{.name = item.at("name").text()};
      if (const Yaml* memory = item.find("memory")) partition.memory_bytes = read_bytes(*memory);
      if (const Yaml* compute = item.find("compute")) partition.compute = read_share(*compute);
      if (const Yaml* bandwidth = item.find("bandwidth")) partition.bandwidth = read_share(*bandwidth);
      if (const Yaml* streams = item.find("streams"))
        partition.streams = static_cast<int>(read_whole(*streams, 1, 1'000'000));
      if (const Yaml* queue = item.find("queue"))
        partition.queue = static_cast<int>(read_whole(*queue, 0, 1'000'000));
      workload_.config.partitions.push_back(std::move(partition));
      at_line(item, [&] { complete_partitions(workload_.config.partitions, memory_bound()); });
    }
  }

  void read_task(const Yaml& yaml) {
    yaml.allow_keys({"name", "class", "priority", "partition", "memory", "compute", "bandwidth", "after",
                     "arrive", "deadline", "cancel", "copies", "requests", "every", "kernels"});
    WorkloadTask task{.line = yaml.line()};
    task.task.name = yaml.at("name").text();
    if (const Yaml* qos = yaml.find("class")) task.task.qos = read_class(*qos);
    if (const Yaml* priority = yaml.find("priority"))
      task.task.priority = static_cast<int>(read_whole(*priority, -kHighestPriority, kHighestPriority));
    if (const Yaml* partition = yaml.find("partition")) task.task.partition = partition->text();
    if (const Yaml* memory = yaml.find("memory")) task.task.memory = read_memory(*memory, task.task.qos);
    task.task.compute = read_share_amount(yaml.find("compute"));
    task.task.bandwidth = read_share_amount(yaml.find("bandwidth"));
    if (const Yaml* arrive = yaml.find("arrive")) task.task.arrive_us = read_duration(*arrive);
    if (const Yaml* deadline = yaml.find("deadline")) task.task.deadline_us = read_duration(*deadline);
    if (const Yaml* cancel = yaml.find("cancel")) task.cancel_us = read_duration(*cancel);
    if (const Yaml* requests = yaml.find("requests")) task.requests = read_whole(*requests, 1, kMostPieces);
    if (const Yaml* every = yaml.find("every")) {
      task.every_us = read_duration(*every);
      if (*task.every_us <= 0) every->fail("expected a time over 0 between requests; found " + every->text());
    }
    std::int64_t pieces = 0;
    const Yaml& kernels = yaml.at("kernels");
    for (const Yaml& kernel : kernels.list()) {
      task.steps.push_back(read_step(kernel));
      pieces += task.steps.back().count;
    }
    if (task.steps.empty()) kernels.fail("expected at least one kernel");
    for (const KernelStep& step : task.steps) {
      if (step.kind == KernelStep::Kind::spin || task.task.memory.limit > 0) continue;
      yaml.fail(format_text("a task whose kernels {} needs memory; say how much with 'memory'",
                            step.kind == KernelStep::Kind::stream ? "stream bytes" : "have operands"));
    }
    const Yaml* const copies = yaml.find("copies");
    const std::int64_t count = copies != nullptr ? read_whole(*copies, 1, kMostTasks) : 1;
    if (const Yaml* after = yaml.find("after")) {
      for (const Yaml& dependency : after->list()) {
        task.task.after.push_back(dependency.text());
        waits_.push_back({dependency.text(), &dependency, static_cast<std::size_t>(count)});
      }
    }
    at_line(yaml, [&] {
      check(task.task);
      check_partition(task.task);
    });
    pieces_ += static_cast<double>(pieces) * static_cast<double>(task.requests) * static_cast<double>(count);
    if (pieces_ > static_cast<double>(kMostPieces) && !workload_.until_us) {
      yaml.fail(format_text("expected at most {} kernels in all where there is no 'until'; found {:.0f}",
                            kMostPieces, pieces_));
    }
    if (workload_.tasks.size() + static_cast<std::size_t>(count) > kMostTasks)
      yaml.fail(format_text("expected at most {} tasks in all", kMostTasks));
    if (!copies_.emplace(task.task.name, std::vector<std::string>()).second)
      yaml.fail(format_text("there are two tasks called {}", task.task.name));
    for (std::int64_t i = 1; i <= count; ++i) {
      WorkloadTask copy = task;
      if (copies != nullptr) copy.task.name = format_text("{}-{}", task.task.name, i);
      copies_[task.task.name].push_back(copy.task.name);
      workload_.tasks.push_back(std::move(copy));
    }
  }

  // Whoever waits for a task that has copies waits for all of them.
  void resolve_names() {
    std::vector<std::string> names;
    for (const auto& [name, list] : copies_) names.push_back(name);
    std::size_t waits = 0;
    for (const auto& [name, yaml, waiting] : waits_) {
      const auto found = copies_.find(name);
      if (found == copies_.end())
        yaml->fail(format_text("there is no task '{}'{}", name, did_you_mean(name, names)));
      waits += found->second.size() * waiting;
      if (waits > kMostWaits)
        yaml->fail(format_text("expected at most {} dependencies in all; found {}", kMostWaits, waits));
    }
    for (WorkloadTask& task : workload_.tasks) {
      std::vector<std::string> after;
      for (const std::string& name : task.task.after) {
        const auto& copies = copies_.at(name);
        after.insert(after.end(), copies.begin(), copies.end());
      }
      task.task.after = std::move(after);
    }
  }

  // Circles and names that copies made equal: what one task alone cannot show.
  void check_whole(const Yaml& tasks) {
    std::vector<Task> all;
    for (const WorkloadTask& task : workload_.tasks) all.push_back(task.task);
    at_line(tasks, [&] { check_dependencies(all); });
  }

  void check_partition(const Task& task) const {
    std::vector<std::string> names;
    const std::string_view wanted =
        task.partition.empty() ? kDefaultPartition : std::string_view(task.partition);
    for (const Partition& partition : complete_partitions(workload_.config.partitions, memory_bound())) {
      if (partition.name == wanted) return;
      names.push_back(partition.name);
    }
    throw Error(ErrorCode::invalid_argument, format_text("sched: task {}: there is no partition '{}'{}",
                                                         task.name, wanted, did_you_mean(wanted, names)));
  }

  std::vector<std::string> task_names() const {
    std::vector<std::string> names;
    for (const WorkloadTask& task : workload_.tasks) names.push_back(task.task.name);
    return names;
  }

  // Without a size in the file, the device's own is checked when there is one.
  std::uint64_t memory_bound() const {
    return workload_.knows_memory ? workload_.config.memory_bytes : UINT64_MAX / 2;
  }

  // What is wrong with a value is told with its line.
  template <typename Action>
  static void at_line(const Yaml& yaml, const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      const std::string_view text = error.message();
      yaml.fail(text.starts_with("sched: ") ? text.substr(7) : text);
    }
  }

  Workload& workload_;
  std::map<std::string, std::vector<std::string>> copies_;
  struct Wait {
    std::string name;
    const Yaml* yaml;
    std::size_t waiting;  // how many tasks wait so
  };
  std::vector<Wait> waits_;
  double pieces_ = 0;
};

}  // namespace

Workload read_workload(std::string_view text, std::string_view name) {
  Workload workload{.name = std::string(name)};
  const Yaml root = Yaml::parse(text, name);
  Reader(workload).read(root);
  return workload;
}

}  // namespace gpuforge::sched
