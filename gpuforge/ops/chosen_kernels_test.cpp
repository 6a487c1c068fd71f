// The kernels that are chosen, for rows of every length that changes the choice, lose no speed to spills, and
// those of odd rows keep memory as busy as their even neighbours': nobody has to remember which they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpuforge/jit/jit.h"
#include "gpuforge/ops/norm_rows.h"
#include "gpuforge/ops/reduce/reduce_kernels.h"
#include "gpuforge/ops/rms_norm_backward/rms_norm_backward_kernels.h"
#include "gpuforge/ops/row_fit.h"
#include "gpuforge/ops/softmax_online/softmax_online_kernels.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward_kernels.h"

namespace gpuforge::ops {
namespace {

struct Chip {
  const char* arch;
  int multiprocessors;
  int most_cluster;     // 1: it has none
  unsigned shared_kib;  // of a block
};
std::ostream& operator<<(std::ostream& out, const Chip& chip) {
  return out << chip.arch;
}

// bf16 has f16's kernels but for conversions.
constexpr DType kCompiled[] = {DType::f16, DType::f32};
constexpr std::int64_t kLengths[] = {128, 512, 1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144};
constexpr std::int64_t kCounts[] = {64, 100000};

// Of an odd row of that many columns or more, at least this share of what its even neighbour has on the way.
// Two thirds cost 4 % (rows of 8,193), half 30 % (layer_norm f32 of 16,385).
constexpr std::int64_t kComparedLength = 8192;
constexpr double kLeastShare = 0.6;

struct Chosen {
  jit::KernelId id;
  int threads = 0;               // of a block
  int held_bytes = 0;            // of each array, a thread; 0: it holds nothing
  std::size_t shared_bytes = 0;  // besides what it declares
};
Chosen chosen_row_kernel(const jit::KernelId& id, const RowConfig& config, const RowProblem& problem) {
  return {.id = id,
          .threads = config.threads * config.rows,
          .held_bytes = config.items * bytes_of(problem.dtype),
          .shared_bytes = shared_bytes(config, problem)};
}

class ChosenKernelsCompileEveryArch : public testing::TestWithParam<Chip> {
 protected:
  ChosenKernelsCompileEveryArch() {
    facts_.multiprocessors = GetParam().multiprocessors;
    facts_.cluster_launch = GetParam().most_cluster > 1;
    facts_.launch.max_cluster_blocks = static_cast<unsigned>(GetParam().most_cluster);
    facts_.launch.max_shared_per_block = GetParam().shared_kib * 1024;
  }

  RowConfig chosen(const RowProblem& problem) const {
    return choose_row_config(problem, "best", nullptr, facts_, {}).config;
  }

  // Rows of each length, and of one element more: those begin anywhere. kernels_of(shape, dtype): what is
  // chosen for them, in the same order for each shape.
  template <typename KernelsOf>
  void for_shapes(KernelsOf kernels_of) {
    for (const DType dtype : kCompiled) {
      for (const std::int64_t length : kLengths) {
        for (const std::int64_t count : kCounts) {
          const std::vector<Chosen> even = kernels_of(Shape{count, length}, dtype);
          const std::vector<Chosen> odd = kernels_of(Shape{count, length + 1}, dtype);
          ASSERT_EQ(even.size(), odd.size());
          for (std::size_t i = 0; i < even.size(); ++i) {
            for (const Chosen& each : {even[i], odd[i]})
              files_[std::string(each.id.file())].insert(each.id.expression());
            // Others have slower memory, and need less.
            if (facts_.cluster_launch && length >= kComparedLength && count == kCounts[1] &&
                even[i].held_bytes > 0)
              neighbours_.emplace_back(even[i], odd[i]);
          }
        }
      }
    }
  }

  void expect_fast(std::size_t least_kernels) {
    jit::Jit jit(jit::JitOptions{.search = cuda::search_options(read_environment()),
                                 .cache_dir = {},
                                 .cache_limit_bytes = 0,
                                 .kernel_dir = {}},
                 nullptr);
    const jit::Arch arch = jit::Arch::parse(GetParam().arch);
    std::map<std::string, std::shared_ptr<const jit::Compiled>> compiled;
    std::size_t kernels = 0;
    for (const auto& [file, expressions] : files_) {
      jit::KernelSource source = jit.embedded_source(file);
      source.instantiations.assign(expressions.begin(), expressions.end());
      kernels += expressions.size();
      compiled[file] = jit.compile(source, arch);
      EXPECT_THAT(performance_warnings(*compiled[file]), testing::IsEmpty());
    }
    EXPECT_GE(kernels, least_kernels);

    // Of each array, on a multiprocessor.
    const auto bytes_under_way = [&](const Chosen& kernel) {
      const jit::Entry& entry = compiled.at(std::string(kernel.id.file()))->entry(kernel.id.expression());
      const auto fits = jit::occupancy(arch, entry.registers, entry.static_shared_bytes + kernel.shared_bytes,
                                       kernel.threads);
      return fits->blocks * kernel.threads * kernel.held_bytes;
    };
    for (const auto& [even, odd] : neighbours_) {
      EXPECT_GE(bytes_under_way(odd), kLeastShare * bytes_under_way(even))
          << odd.id.expression() << " beside " << even.id.expression();
    }
  }

  device::DeviceFacts facts_;

 private:
  std::map<std::string, std::set<std::string>> files_;
  std::vector<std::pair<Chosen, Chosen>> neighbours_;
};
INSTANTIATE_TEST_SUITE_P(Chips, ChosenKernelsCompileEveryArch,
                         testing::Values(Chip{"sm_80", 108, 1, 163}, Chip{"sm_86", 82, 1, 99},
                                         Chip{"sm_89", 128, 1, 99}, Chip{"sm_90a", 132, 16, 227},
                                         Chip{"sm_100a", 148, 16, 227}, Chip{"sm_120a", 170, 8, 99}),
                         testing::PrintToStringParamName());

TEST_P(ChosenKernelsCompileEveryArch, OfNorms) {
  for_shapes([&](const Shape& shape, DType dtype) {
    std::vector<Chosen> kernels;
    for (const std::string_view op : {"rms_norm", "layer_norm"}) {
      for (const bool residual : {false, true}) {
        const RowProblem problem = norm_problem(op, shape, dtype, residual, "best");
        const RowConfig config = chosen(problem);
        const NormHas has{.residual = residual, .weight = true, .bias = op == "layer_norm"};
        kernels.push_back(chosen_row_kernel(norm_kernel_id(op, "best", dtype, config, has), config, problem));
      }
    }
    return kernels;
  });
  expect_fast(50);
}

TEST_P(ChosenKernelsCompileEveryArch, OfSoftmax) {
  for_shapes([&](const Shape& shape, DType dtype) {
    const Strides strides = row_major_strides(shape);
    const RowProblem forward = softmax_problem(softmax_rows(shape, strides, strides, 1), dtype, "best", 0, 0);
    const RowProblem backward = softmax_backward_problem(
        softmax_backward_rows(shape, strides, strides, strides, 1), dtype, "best", 0, 0, 0);
    const RowConfig of_forward = chosen(forward), of_backward = chosen(backward);
    return std::vector<Chosen>{
        chosen_row_kernel(softmax_kernel_id("best", dtype, of_forward), of_forward, forward),
        chosen_row_kernel(softmax_backward_kernel_id("best", dtype, of_backward), of_backward, backward)};
  });
  expect_fast(50);
}

TEST_P(ChosenKernelsCompileEveryArch, OfTheRest) {
  for_shapes([&](const Shape& shape, DType dtype) {
    constexpr device::Address kOwn[kRmsArrays] = {};
    const RowProblem problem = rms_backward_problem(rms_backward_rows(shape), dtype, "best", true, kOwn);
    const RowConfig of_rows = chosen(problem);
    std::vector<Chosen> kernels{
        chosen_row_kernel(rms_backward_kernel_ids("best", dtype, of_rows, true).rows, of_rows, problem)};
    for (const std::int64_t axis : {0, 1}) {
      const Rows rows = reduce_rows(shape, row_major_strides(shape), {1}, axis);
      const ReduceConfig config =
          choose_reduce("reduce", reduce_problem(rows, dtype), "best", facts_, {}).config;
      kernels.push_back(
          {reduce_kernel_id(plan_reduce(rows, 0, dtype, config), dtype, ReduceOp::sum, config)});
    }
    return kernels;
  });
  expect_fast(50);
}

}  // namespace
}  // namespace gpuforge::ops
