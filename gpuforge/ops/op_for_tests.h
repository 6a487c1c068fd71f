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
  // places; a refusal where the device has no such clusters. `like`: options and dtype (16 bits).
  void expect_clusters_good(const lab::Op& op, lab::Problem like,
                            std::initializer_list<lab::Contents> all_contents) {
    const device::DeviceFacts& facts = context_->device().facts();
    for (const int cluster : {2, 4, 8, 16}) {
      const Config config{{"threads", 64}, {"rows", 1}, {"vector", 8}, {"items", 16}, {"cluster", cluster}};
      const bool has = facts.cluster_launch && cluster <= static_cast<int>(facts.launch.max_cluster_blocks);
      for (const std::int64_t length : {1024 * cluster, 1024 * cluster - 13, 1025, 17}) {
        like.shape = {37, length};
        for (const lab::Contents contents : all_contents) {
          const lab::CheckCase which{
              .problem = lab::complete(op, like), .variant = "best", .contents = contents, .config = config};
          if (has) {
            expect_good(op, which);
          } else {
            EXPECT_THAT(
                error_of([&] { lab::check(op, which, context_); }),
                testing::HasSubstr(format_text("unavailable: {}: cluster={} needs a GPU", op.name, cluster)));
          }
        }
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
