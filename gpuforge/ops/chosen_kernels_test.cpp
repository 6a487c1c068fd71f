// The kernels that are chosen, for rows of every length that changes the choice, lose no speed to spills:
// nobody has to remember which they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "gpuforge/jit/jit.h"
#include "gpuforge/ops/norm_rows.h"
#include "gpuforge/ops/reduce/reduce_kernels.h"
#include "gpuforge/ops/rms_norm_backward/rms_norm_backward_kernels.h"
#include "gpuforge/ops/softmax_online/softmax_online_kernels.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward_kernels.h"

namespace gpuforge::ops {
namespace {

struct Chip {
  const char* arch;
  int multiprocessors;
  int most_cluster;  // 1: it has none
};
std::ostream& operator<<(std::ostream& out, const Chip& chip) {
  return out << chip.arch;
}

// bf16 has f16's kernels but for conversions.
constexpr DType kCompiled[] = {DType::f16, DType::f32};
constexpr std::int64_t kLengths[] = {128, 512, 1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144};
constexpr std::int64_t kCounts[] = {64, 100000};

class ChosenKernelsCompileEveryArch : public testing::TestWithParam<Chip> {
 protected:
  ChosenKernelsCompileEveryArch() {
    facts_.multiprocessors = GetParam().multiprocessors;
    facts_.cluster_launch = GetParam().most_cluster > 1;
    facts_.launch.max_cluster_blocks = static_cast<unsigned>(GetParam().most_cluster);
    facts_.launch.max_shared_per_block = GetParam().most_cluster > 1 ? 227 * 1024 : 99 * 1024;
  }

  void add(const jit::KernelId& id) { files_[std::string(id.file())].insert(id.expression()); }
  RowConfig chosen(const RowProblem& problem) const {
    return choose_row_config(problem, "best", nullptr, facts_, {}).config;
  }

  // Rows of each length, and of one element more: those begin anywhere.
  template <typename Add>
  void for_shapes(Add add) {
    for (const DType dtype : kCompiled) {
      for (const std::int64_t length : kLengths) {
        for (const std::int64_t count : kCounts) {
          add(Shape{count, length}, dtype);
          add(Shape{count, length + 1}, dtype);
        }
      }
    }
  }

  void expect_no_spills(std::size_t least) {
    jit::Jit jit(jit::JitOptions{.search = cuda::search_options(read_environment()),
                                 .cache_dir = {},
                                 .cache_limit_bytes = 0,
                                 .kernel_dir = {}},
                 nullptr);
    std::size_t kernels = 0;
    for (const auto& [file, expressions] : files_) {
      jit::KernelSource source = jit.embedded_source(file);
      source.instantiations.assign(expressions.begin(), expressions.end());
      kernels += expressions.size();
      EXPECT_THAT(performance_warnings(*jit.compile(source, jit::Arch::parse(GetParam().arch))),
                  testing::IsEmpty());
    }
    EXPECT_GE(kernels, least);
  }

  device::DeviceFacts facts_;

 private:
  std::map<std::string, std::set<std::string>> files_;
};
INSTANTIATE_TEST_SUITE_P(Chips, ChosenKernelsCompileEveryArch,
                         testing::Values(Chip{"sm_90a", 132, 16}, Chip{"sm_80", 108, 1}),
                         testing::PrintToStringParamName());

TEST_P(ChosenKernelsCompileEveryArch, OfNorms) {
  for_shapes([&](const Shape& shape, DType dtype) {
    for (const std::string_view op : {"rms_norm", "layer_norm"}) {
      for (const bool residual : {false, true})
        add(norm_kernel_id(op, "best", dtype, chosen(norm_problem(op, shape, dtype, residual, "best")),
                           {.residual = residual, .weight = true, .bias = op == "layer_norm"}));
    }
  });
  expect_no_spills(50);
}

TEST_P(ChosenKernelsCompileEveryArch, OfSoftmax) {
  for_shapes([&](const Shape& shape, DType dtype) {
    const Strides strides = row_major_strides(shape);
    add(softmax_kernel_id(
        "best", dtype,
        chosen(softmax_problem(softmax_rows(shape, strides, strides, 1), dtype, "best", 0, 0))));
    const Rows rows = softmax_backward_rows(shape, strides, strides, strides, 1);
    add(softmax_backward_kernel_id("best", dtype,
                                   chosen(softmax_backward_problem(rows, dtype, "best", 0, 0, 0))));
  });
  expect_no_spills(50);
}

TEST_P(ChosenKernelsCompileEveryArch, OfTheRest) {
  for_shapes([&](const Shape& shape, DType dtype) {
    constexpr device::Address kOwn[kRmsArrays] = {};
    const RowProblem backward = rms_backward_problem(rms_backward_rows(shape), dtype, "best", true, kOwn);
    add(rms_backward_kernel_ids("best", dtype, chosen(backward), true).rows);
    for (const std::int64_t axis : {0, 1}) {
      const Rows rows = reduce_rows(shape, row_major_strides(shape), {1}, axis);
      const ReduceConfig config =
          choose_reduce("reduce", reduce_problem(rows, dtype), "best", facts_, {}).config;
      add(reduce_kernel_id(plan_reduce(rows, 0, dtype, config), dtype, ReduceOp::sum, config));
    }
  });
  expect_no_spills(50);
}

}  // namespace
}  // namespace gpuforge::ops
