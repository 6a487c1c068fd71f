// Calls find their kernels by id: over every configuration of every op, an id has one text and a text one id.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <unordered_map>

#include "gpuforge/array/array_kernels.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"
#include "gpuforge/ops/elementwise/elementwise_kernels.h"
#include "gpuforge/ops/matmul/matmul_kernels.h"
#include "gpuforge/ops/norm_rows.h"
#include "gpuforge/ops/reduce_sum/reduce_sum_kernels.h"
#include "gpuforge/ops/reductions/reductions_kernels.h"
#include "gpuforge/ops/rms_norm_backward/rms_norm_backward_kernels.h"
#include "gpuforge/ops/softmax_online/softmax_online_kernels.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr DType kFloats[] = {DType::f16, DType::bf16, DType::f32};

struct HashOfId {
  std::size_t operator()(const jit::KernelId& id) const { return id.hash(); }
};

class KernelIds : public testing::Test {
 protected:
  KernelIds() { facts_.multiprocessors = 132; }

  void add(const jit::KernelId& id) {
    const std::string text = std::string(id.file()) + " " + id.expression();
    const auto [known, is_new] = text_of_.emplace(id, text);
    ASSERT_EQ(known->second, text);
    ASSERT_EQ(texts_.insert(text).second, is_new) << text;
  }

  // Every test ends with it.
  void expect_at_least(std::size_t kernels) {
    EXPECT_GE(texts_.size(), kernels);
    std::set<std::size_t> hashes;
    for (const auto& [id, text] : text_of_) hashes.insert(id.hash());
    EXPECT_EQ(hashes.size(), texts_.size()) << "ids of one hash make a look-up slow";
  }

  device::DeviceFacts facts_;

 private:
  std::unordered_map<jit::KernelId, std::string, HashOfId> text_of_;
  std::set<std::string> texts_;
};

TEST_F(KernelIds, OfRows) {
  for (const DType dtype : kFloats) {
    for (const bool columns : {false, true}) {
      for (int vector = columns ? 1 : 16 / static_cast<int>(element_bytes(dtype)); vector > 0; vector /= 2) {
        RowProblem problem{"op", 100, 8, dtype, vector, columns, 128};
        problem.form = vector > 1 ? RowForm::whole : RowForm::any;
        problem.most_cluster = 8;
        facts_.launch.max_cluster_blocks = 8;
        for (const RowConfig& config : row_configs(problem, facts_)) {
          for (const char* const variant : {"best", "online", "safe", "naive"})
            add(softmax_kernel_id(variant, dtype, config));
          for (const char* const variant : {"best", "naive"}) {
            add(softmax_backward_kernel_id(variant, dtype, config));
            for (const char* const op : {"rms_norm", "layer_norm"})
              for (int has = 0; has < 8; ++has)
                add(norm_kernel_id(op, variant, dtype, config,
                                   {(has & 1) != 0, (has & 2) != 0, (has & 4) != 0}));
            for (const bool weight : {false, true}) {
              const RmsBackwardIds ids = rms_backward_kernel_ids(variant, dtype, config, weight);
              for (const jit::KernelId& id : {ids.rows, ids.partials, ids.weight}) add(id);
            }
          }
        }
      }
    }
  }
  expect_at_least(1000);
}

struct PlanOfKind {
  ReduceKernel kernel;
  bool regular = false;
  bool aligned = false;
};
std::vector<PlanOfKind> plans_of(RowsKind kind) {
  if (kind == RowsKind::strided) return {{ReduceKernel::strided}};
  if (kind == RowsKind::columns) return {{ReduceKernel::columns}, {ReduceKernel::ragged_columns}};
  return {{ReduceKernel::short_rows, true, true},
          {ReduceKernel::rows, true, true},
          {ReduceKernel::rows, true, false},
          {ReduceKernel::rows}};
}

TEST_F(KernelIds, OfReductions) {
  for (const DType dtype : kFloats) {
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::amax, ReduceOp::amin, ReduceOp::prod, ReduceOp::mean}) {
      for (const RowsKind kind : {RowsKind::unit, RowsKind::columns, RowsKind::strided}) {
        for (const std::int64_t length : {7, 1000, 100000}) {
          const ReduceProblem problem{64, length, 64, kind, dtype};
          for (const Config& config : reduce_configs(problem, facts_)) {
            for (const auto& [kernel, regular, aligned] : plans_of(kind)) {
              for (const int vector : {1, 2, 4, 8}) {
                const ReducePlan plan{kernel, vector, regular, aligned};
                add(reduce_kernel_id(plan, dtype, op, reduce_config("reduce", "best", config)));
              }
            }
          }
        }
      }
      add(reduce_kernel_id({.kernel = ReduceKernel::naive}, dtype, op, {.naive = true}));
      add(reduce_parts_kernel_id(dtype, op));
    }
    for (const char* const variant : {"naive", "improved", "shuffle"}) {
      for (const Config& config : reduce_sum_configs({}, variant, facts_))
        add(reduce_sum_kernel_id(variant, dtype, config));
    }
    add(reduce_sum_kernel_id("naive", dtype, {}));
  }
  for (const Reduction reduction :
       {Reduction::sum, Reduction::mean, Reduction::prod, Reduction::max, Reduction::min, Reduction::any,
        Reduction::all, Reduction::argmax, Reduction::argmin}) {
    for (const DType dtype : kAllDTypes) {
      const DType out = reduction_dtype(reduction, dtype);
      add(reduction_kernel_id(reduction, dtype, out, accumulator_dtype(dtype)));
      add(found_kernel_id(reduction, out, accumulator_dtype(dtype)));
    }
  }
  expect_at_least(1000);
}

TEST_F(KernelIds, OfMatricesAndCopies) {
  for (const DType dtype : kFloats) {
    // Planes that are alike and not, and offsets of 32 and 64 bits.
    for (const Shape& shape : {Shape{640, 640}, Shape{2, 3, 640, 640}, Shape{1 << 17, 1 << 15}}) {
      const bool apart = shape.size() == 4;
      Strides x = row_major_strides(shape);
      if (apart) x[0] *= 2;
      const TransposePlan plan = plan_transpose(shape, x, row_major_strides(transposed_shape(shape)), false);
      const TransposeProblem problem = transpose_problem(shape, dtype);
      for (const char* const variant : {"best", "tiled"}) {
        for (const Config& config : transpose_configs(problem, variant))
          add(transpose_kernel_id(plan, dtype, transpose_config(variant, config, dtype)));
      }
      add(transpose_kernel_id(plan, dtype, {.tile = 0}));
    }
  }
  for (const DType to : kAllDTypes) {
    for (const Config& config : matmul_configs(to))
      add(matmul_kernel_id(to, matmul_config("best", to, config)));
    add(matmul_kernel_id(to, {.naive = true}));
    for (const DType from : kAllDTypes) {
      for (const bool strided : {false, true}) add(copy_kernel_id(to, from, strided));
    }
    add(fill_kernel_id(element_bytes(to)));
    add(range_kernel_id(to));
  }
  expect_at_least(500);
}

TEST_F(KernelIds, OfElements) {
  const Shape shape{6, 64};
  for (const Function& function : functions()) {
    for (const DType dtype : kAllDTypes) {
      const std::vector<OperandType> types(static_cast<std::size_t>(function.arity), {.dtype = dtype});
      Resolution how;
      try {
        how = resolve(function, types);
      } catch (const Error&) {
        continue;  // not one of the function's dtypes
      }
      for (const bool row : {false, true}) {
        std::vector<WalkedArray> arrays{{0, how.result, {64, 1}}};
        std::vector<KernelInput> inputs;
        for (int i = 0; i < function.arity; ++i) {
          arrays.push_back({0, dtype, row && i > 0 ? Strides{0, 1} : Strides{64, 1}});
          inputs.push_back({.array = arrays.size() - 1});
        }
        const ElementWalk walk = make_element_walk(shape, arrays);
        for (const Config& config : elementwise_configs()) {
          const ElementwisePlan plan = plan_elementwise(walk, elementwise_config("best", config));
          add(elementwise_kernel_id(&how, walk, inputs, plan));
          add(elementwise_kernel_id(nullptr, walk, inputs, plan));
        }
        inputs.back() = {.constant = true, .bits = {DType::f32, 0}};
        add(elementwise_kernel_id(&how, walk, inputs, plan_elementwise(walk, {})));
      }
    }
  }
  expect_at_least(5000);
}

}  // namespace
}  // namespace gpuforge::ops
