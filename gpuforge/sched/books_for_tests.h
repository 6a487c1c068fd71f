// What must hold of a Scheduler's books at any time: the sums over its tasks are its partitions' figures, and
// nothing is promised twice.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "gpuforge/sched/scheduler.h"

namespace gpuforge::sched {

inline void expect_books_balance(const Scheduler& scheduler) {
  struct Sum {
    std::uint64_t reserved = 0;
    std::uint64_t granted = 0;
    double compute = 0;
    double bandwidth = 0;
    int admitted = 0;
    int queued = 0;
  };
  std::map<std::string, Sum> sums;
  int on_device = 0;
  for (const TaskId id : scheduler.tasks()) {
    const TaskStatus status = scheduler.status(id);
    Sum& sum = sums[status.task.partition.empty() ? std::string(kDefaultPartition) : status.task.partition];
    on_device += sched::on_device(status.state);
    sum.queued += status.state == TaskState::queued;
    if (!is_admitted(status.state)) {
      ASSERT_EQ(status.reserved_bytes, 0u) << status.task.name << " is " << name(status.state);
      ASSERT_EQ(status.granted_bytes, 0u) << status.task.name << " is " << name(status.state);
      continue;
    }
    ASSERT_LE(status.reserved_bytes, status.granted_bytes) << status.task.name;
    ASSERT_LE(status.granted_bytes, status.task.memory.limit) << status.task.name;
    ASSERT_GE(status.granted_bytes, status.task.memory.request) << status.task.name;
    sum.reserved += status.reserved_bytes;
    sum.granted += status.granted_bytes;
    sum.compute += status.task.compute.request;
    sum.bandwidth += status.task.bandwidth.request;
    ++sum.admitted;
  }
  ASSERT_EQ(on_device, scheduler.on_device());
  for (const PartitionStatus& status : scheduler.partitions()) {
    const Sum& sum = sums[status.partition.name];
    ASSERT_EQ(status.reserved_bytes, sum.reserved);
    ASSERT_EQ(status.granted_bytes, sum.granted);
    ASSERT_LE(status.reserved_bytes, status.granted_bytes);
    ASSERT_LE(status.granted_bytes, status.partition.memory_bytes);
    ASSERT_NEAR(status.compute_reserved, sum.compute, 1e-6 * (sum.admitted + 1));
    ASSERT_NEAR(status.bandwidth_reserved, sum.bandwidth, 1e-6 * (sum.admitted + 1));
    ASSERT_LE(status.compute_reserved, status.partition.compute + 1e-6);
    ASSERT_LE(status.bandwidth_reserved, status.partition.bandwidth + 1e-6);
    ASSERT_EQ(status.admitted, sum.admitted);
    ASSERT_LE(status.admitted, status.partition.streams);
    ASSERT_EQ(status.queued, sum.queued);
  }
}

// After the last end: all is as it was.
inline void expect_nothing_held(const Scheduler& scheduler) {
  EXPECT_TRUE(scheduler.all_ended());
  EXPECT_EQ(scheduler.on_device(), 0);
  for (const PartitionStatus& status : scheduler.partitions()) {
    EXPECT_EQ(status.reserved_bytes, 0u);
    EXPECT_EQ(status.granted_bytes, 0u);
    EXPECT_EQ(status.compute_reserved, 0);
    EXPECT_EQ(status.bandwidth_reserved, 0);
    EXPECT_EQ(status.admitted, 0);
    EXPECT_EQ(status.queued, 0);
  }
}

}  // namespace gpuforge::sched
