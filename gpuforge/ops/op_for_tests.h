// What every op must pass on every device: all of its check problems, dtypes, variants, contents and
// placements, against its reference. Included by the ops' tests alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/lab/check_plan.h"
#include "gpuforge/ops/registry.h"

namespace gpuforge::ops {

class OpTest : public ArrayTest {
 protected:
  void expect_good(const lab::Op& op, const lab::CheckCase& which) {
    for (const std::string& complaint : lab::complaints(lab::check(op, which, context_))) {
      ADD_FAILURE() << op.name << " " << lab::to_string(which) << ": " << complaint;
    }
  }

  // With configurations in which every value of every choice occurs: all of them would compile for minutes.
  void expect_configs_good(const lab::Op& op, const lab::Problem& problem, std::string_view variant) {
    const lab::Problem complete = lab::complete(op, problem);
    const std::vector<Config> configs = op.configs(complete, variant, context_->device().facts());
    EXPECT_GE(configs.size(), 20u);
    std::map<std::pair<std::string, std::int64_t>, int> seen;
    for (std::size_t i = 0; i < configs.size(); ++i) {
      const Config& config = configs[i * 37 % configs.size()];
      bool wanted = false;
      for (const auto& choice : config) wanted = wanted || seen[choice] == 0;
      if (!wanted) continue;
      for (const auto& choice : config) ++seen[choice];
      SCOPED_TRACE(to_string(config));
      expect_good(op, {.problem = complete, .variant = std::string(variant), .config = config});
    }
  }

  // Rows that fill the blocks of a cluster, that leave some of them next to nothing, and that begin at odd
  // places, of which a thread holds so many bytes; more rows than are there at once, which are read ahead. A
  // refusal where the device has no such clusters. `like`: options and dtype.
  void expect_clusters_good(const lab::Op& op, lab::Problem like, std::initializer_list<int> all_held_bytes,
                            std::initializer_list<lab::Contents> all_contents) {
    const device::DeviceFacts& facts = context_->device().facts();
    constexpr int kThreads = 64;
    const int bytes = static_cast<int>(element_bytes(like.dtype));
    for (const int held_bytes : all_held_bytes) {
      for (const int cluster : {2, 4, 8, 16}) {
        const Config config{{"threads", kThreads},
                            {"rows", 1},
                            {"vector", 16 / bytes},
                            {"items", held_bytes / bytes},
                            {"cluster", cluster}};
        const auto which = [&](std::int64_t rows, std::int64_t length, lab::Contents contents) {
          like.shape = {rows, length};
          return lab::CheckCase{
              .problem = lab::complete(op, like), .variant = "best", .contents = contents, .config = config};
        };
        if (!facts.cluster_launch || cluster > static_cast<int>(facts.launch.max_cluster_blocks)) {
          EXPECT_THAT(
              error_of([&] { lab::check(op, which(1, 1024, lab::Contents::normal), context_); }),
              testing::HasSubstr(format_text("unavailable: {}: cluster={} needs a GPU", op.name, cluster)));
          continue;
        }
        const std::int64_t most = std::int64_t{kThreads} * cluster * held_bytes / bytes;
        const bool simulated = facts.kind == device::DeviceKind::sim;  // to which a prefetch is nothing
        for (const std::int64_t length : {most, most - 13, most / cluster + 1, std::int64_t{17}}) {
          for (const lab::Contents contents : all_contents)
            expect_good(op, which(simulated ? 3 : 37, length, contents));
        }
        if (cluster == 16 && !simulated) expect_good(op, which(150, most - 13, lab::Contents::normal));
      }
    }
  }

  // What `gpuforge check OP` goes through.
  void expect_all_good(const lab::Op& op) {
    const lab::CheckPlan plan = lab::plan_checks(std::span(&op, 1), {}, context_->device().facts().kind);
    for (const lab::PlannedCase& planned : plan.cases) expect_good(op, planned.which);
  }
};

}  // namespace gpuforge::ops
