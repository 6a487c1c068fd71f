// The memory of a task: what it was granted, and no more. Not installed.
#pragma once

#include <memory>
#include <string>

#include "gpuforge/memory/adaptor.h"
#include "gpuforge/sched/scheduler.h"

namespace gpuforge::sched {

// From `source`, under the task's name where that is a pool with a tag left.
std::shared_ptr<memory::LimitAllocator> task_memory(const std::shared_ptr<memory::Allocator>& source,
                                                    const std::string& task_name);

// After a piece was queued: a task from which memory was called back has freed what is over its grant, or it
// is an out_of_memory.
void check_memory(const memory::LimitAllocator& memory, const TaskStatus& status);

}  // namespace gpuforge::sched
