#include "gpuforge/sched/task_memory.h"

#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/memory/pool.h"

namespace gpuforge::sched {

std::shared_ptr<memory::LimitAllocator> task_memory(const std::shared_ptr<memory::Allocator>& source,
                                                    const std::string& task_name) {
  std::shared_ptr<memory::Allocator> from = source;
  if (const auto pool = std::dynamic_pointer_cast<memory::Pool>(source)) {
    try {
      from = pool->tagged(task_name);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;  // no tag is left: accounted with the rest
    }
  }
  return memory::make_limit_allocator(std::move(from), 0, "task " + task_name);
}

void check_memory(const memory::LimitAllocator& memory, const TaskStatus& status) {
  if (memory.live_bytes() <= status.granted_bytes) return;
  throw Error(
      ErrorCode::out_of_memory,
      format_text("task {}: it uses {} after it was told that it may use {}; a body frees what is over "
                  "Piece::granted_bytes before it queues more",
                  status.task.name, show_bytes(memory.live_bytes()), show_bytes(status.granted_bytes)));
}

}  // namespace gpuforge::sched
