#include <algorithm>
#include <unordered_map>

#include "gpuforge/base/error.h"
#include "gpuforge/base/suggest.h"
#include "gpuforge/sched/task.h"

namespace gpuforge::sched {
namespace {

// Kahn's order; what remains is on a cycle or behind one.
void check_cycles(std::span<const Task> tasks,
                  const std::unordered_map<std::string_view, std::size_t>& batch) {
  std::vector<std::size_t> missing(tasks.size());
  std::vector<std::vector<std::size_t>> dependants(tasks.size());
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (const std::string& name : tasks[i].after) {
      const auto found = batch.find(name);
      if (found == batch.end()) continue;
      dependants[found->second].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0) free.push_back(i);
  }
  std::size_t done = 0;
  while (!free.empty()) {
    const std::size_t i = free.back();
    free.pop_back();
    ++done;
    for (const std::size_t j : dependants[i]) {
      if (--missing[j] == 0) free.push_back(j);
    }
  }
  if (done == tasks.size()) return;
  // Whoever still misses something waits for one that does as well: following that leads round the cycle.
  std::size_t at = 0;
  while (missing[at] == 0) ++at;
  std::vector<std::size_t> path;
  while (std::ranges::find(path, at) == path.end()) {
    path.push_back(at);
    for (const std::string& name : tasks[at].after) {
      const auto found = batch.find(name);
      if (found == batch.end() || missing[found->second] == 0) continue;
      at = found->second;
      break;
    }
  }
  std::string cycle;
  for (auto step = std::ranges::find(path, at); step != path.end(); ++step)
    cycle += tasks[*step].name + " -> ";
  throw Error(ErrorCode::invalid_argument,
              format_text("sched: tasks wait for each other in a circle: {}{}", cycle, tasks[at].name));
}

}  // namespace

void check_dependencies(std::span<const Task> tasks,
                        const std::function<bool(const std::string&)>& known_before) {
  std::unordered_map<std::string_view, std::size_t> batch;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    GPUFORGE_CHECK(batch.emplace(tasks[i].name, i).second,
                   "sched: there are two tasks called {}; names are how tasks are told apart", tasks[i].name);
  }
  for (const Task& task : tasks) {
    for (const std::string& name : task.after) {
      if (batch.contains(name) || (known_before && known_before(name))) continue;
      std::vector<std::string> names;
      for (const Task& other : tasks) names.push_back(other.name);
      throw Error(ErrorCode::invalid_argument,
                  format_text("sched: task {} waits for '{}', which is no task{}", task.name, name,
                              did_you_mean(name, names)));
    }
  }
  check_cycles(tasks, batch);
}

}  // namespace gpuforge::sched
