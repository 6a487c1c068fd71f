#include "gpuforge/ops/matmul/matmul.h"

#include <algorithm>
#include <limits>

#include "gpuforge/base/promotion.h"
#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/elementwise/host_functions.h"
#include "gpuforge/ops/matmul/matmul_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr jit::FixedText kFile = "gpuforge/ops/matmul/matmul.cu";
constexpr int kEdge = 16;
constexpr int kTiles[] = {128, 64, 32};
constexpr int kDepths[] = {8, 16, 32};
constexpr std::size_t kMostShared = 48 << 10;  // bytes that every device gives a block unasked

// All but the last two.
Shape batch_of(const Shape& shape) {
  return Shape(std::span(shape.begin(), shape.size() - 2));
}

Shape as_matrix(const Shape& shape, bool row) {
  if (shape.size() != 1) return shape;
  return row ? Shape{1, shape[0]} : Shape{shape[0], 1};
}

Array as_matrix(const Array& array, bool row) {
  return array.rank() == 1 ? array.reshape(as_matrix(array.shape(), row)) : array;
}

Array with_batch(const Array& array, const Shape& batch) {
  Shape shape = batch;
  shape.push_back(array.shape()[array.rank() - 2]);
  shape.push_back(array.shape().back());
  return array.broadcast_to(shape);
}

std::size_t shared_bytes(const MatmulConfig& config, DType dtype) {
  const auto numbers = static_cast<std::size_t>((config.rows + 1 + config.columns + 1) * config.depth);
  return numbers * element_bytes(compute_dtype(dtype));
}

// The smallest tile that has all of them, or the largest there is.
int tile_for(std::int64_t extent, int most) {
  int tile = most;
  for (const int smaller : kTiles) {
    if (smaller < tile && smaller >= extent) tile = smaller;
  }
  return tile;
}

std::int64_t tiles(const MatmulSize& size, const MatmulConfig& config) {
  return ((size.m + config.rows - 1) / config.rows) * ((size.n + config.columns - 1) / config.columns);
}

void launch(const Array& out, const Array& a, const Array& b, const MatmulProblem& problem,
            const MatmulConfig& config, device::Stream& stream) {
  const std::int64_t blocks = tiles({problem.m, problem.n, problem.k}, config);
  constexpr std::int64_t kMost = 65535;  // blocks along y and z of a grid
  GPUFORGE_CHECK(blocks <= std::numeric_limits<std::int32_t>::max() && problem.batches <= kMost * kMost,
                 "matmul: at most 2^31 - 1 tiles and 65535 * 65535 matrices were expected; found {} tiles of "
                 "{} x {} and {} matrices",
                 blocks, config.rows, config.columns, problem.batches);
  const auto kernel = matmul_kernel(a.context(), a.dtype(), config);
  const memory::Hold uses[] = {out.record_use(stream), a.record_use(stream), b.record_use(stream)};
  device::LaunchConfig launch;
  launch.grid.x = static_cast<std::uint32_t>(blocks);
  launch.grid.z = static_cast<std::uint32_t>((problem.batches + kMost - 1) / kMost);
  launch.grid.y = static_cast<std::uint32_t>((problem.batches + launch.grid.z - 1) / launch.grid.z);
  launch.block.x = kEdge * kEdge;
  (*kernel)(launch, stream, out, a, b, problem);
}

}  // namespace

Shape matmul_shape(const Shape& a, const Shape& b) {
  GPUFORGE_CHECK(!a.empty() && !b.empty(),
                 "matmul: operands with one axis or more were expected; found {} and {}", to_string(a),
                 to_string(b));
  const Shape left = as_matrix(a, true), right = as_matrix(b, false);
  GPUFORGE_CHECK(left.back() == right[right.size() - 2],
                 "matmul: {} and {} do not fit: {} columns of the first, {} rows of the second", to_string(a),
                 to_string(b), left.back(), right[right.size() - 2]);
  Shape shape = broadcast_shapes(batch_of(left), batch_of(right));
  if (a.size() > 1) shape.push_back(left[left.size() - 2]);
  if (b.size() > 1) shape.push_back(right.back());
  return shape;
}

MatmulProblem matmul_problem(const Array& out, const Array& a, const Array& b) {
  MatmulProblem problem;
  const std::size_t rank = out.rank() - 2;
  problem.m = a.shape()[rank];
  problem.k = a.shape()[rank + 1];
  problem.n = b.shape()[rank + 1];
  problem.rank = static_cast<std::int32_t>(rank);
  const Array* const arrays[] = {&out, &a, &b};
  for (std::size_t i = 0; i < 3; ++i) {
    problem.rows[i] = arrays[i]->strides()[rank];
    problem.columns[i] = arrays[i]->strides()[rank + 1];
    for (std::size_t d = 0; d < rank; ++d) problem.strides[i][d] = arrays[i]->strides()[d];
  }
  for (std::size_t d = 0; d < rank; ++d) {
    problem.extents[d] = out.shape()[d];
    problem.batches *= out.shape()[d];
  }
  return problem;
}

Config to_config(const MatmulConfig& config) {
  return {{"rows", config.rows}, {"columns", config.columns}, {"depth", config.depth}};
}

MatmulConfig matmul_config(std::string_view variant, DType dtype, const Config& config) {
  GPUFORGE_CHECK(variant == "best", "matmul: a configuration of {}, which has none, was expected; found {}",
                 variant, to_string(config));
  GPUFORGE_CHECK(!config.empty(), "matmul: a configuration of best was expected; found -");
  MatmulConfig result;
  for (const auto& [name, value] : config) {
    const bool tile = name == "rows" || name == "columns";
    GPUFORGE_CHECK((tile && is_one_of(kTiles, value)) || (name == "depth" && is_one_of(kDepths, value)),
                   "matmul: there is no configuration {}={}; rows and columns are 32, 64 or 128, depth 8, 16 "
                   "or 32",
                   name, value);
    (name == "rows"      ? result.rows
     : name == "columns" ? result.columns
                         : result.depth) = static_cast<int>(value);
  }
  GPUFORGE_CHECK(shared_bytes(result, dtype) <= kMostShared,
                 "matmul: {} of {} takes {} bytes of shared memory; at most {} were expected", name(dtype),
                 to_string(config), shared_bytes(result, dtype), kMostShared);
  return result;
}

std::vector<Config> matmul_configs(DType dtype) {
  std::vector<Config> list;
  for (const int rows : kTiles) {
    for (const int columns : kTiles) {
      for (const int depth : kDepths) {
        const MatmulConfig config{rows, columns, depth};
        if (shared_bytes(config, dtype) <= kMostShared) list.push_back(to_config(config));
      }
    }
  }
  return list;
}

TuningKey matmul_tuning_key(const MatmulSize& size, DType dtype, std::string_view variant) {
  return {"matmul", std::string(variant), dtype, shape_class({size.batches, size.m, size.n, size.k})};
}

MatmulChoice choose_matmul(const MatmulSize& size, DType dtype, std::string_view variant,
                           const device::DeviceFacts& facts, const TuningTable& table) {
  if (variant == "naive") {
    return {{.rows = kEdge, .columns = kEdge, .naive = true}, "one thread an element"};
  }
  GPUFORGE_CHECK(variant == "best", "matmul: there is no variant '{}'; it has best, naive", variant);
  if (const Config* const tuned = table.find_by([&] { return matmul_tuning_key(size, dtype, variant); })) {
    return {matmul_config(variant, dtype, *tuned), "tuned on this device"};
  }
  // The largest tile that still gives every multiprocessor a block, and no more of it than there is output;
  // numbers of 8 bytes have no room for 128.
  for (const int tile : kTiles) {
    if (tile == 128 && element_bytes(compute_dtype(dtype)) == 8) continue;
    const MatmulConfig config{tile_for(size.m, tile), tile_for(size.n, tile), tile == 128 ? 8 : 16};
    const std::int64_t blocks = tiles(size, config) * size.batches;
    if (blocks >= std::max(facts.multiprocessors, 1)) {
      return {config, Reason("{} blocks with tiles of {} x {}", blocks, config.rows, config.columns)};
    }
  }
  return {{32, 32, 16}, "larger tiles would leave multiprocessors idle"};
}

jit::KernelId matmul_kernel_id(DType dtype, const MatmulConfig& config) {
  const DType compute = compute_dtype(dtype);
  if (config.naive) return {kFile, "gpuforge::matmul_naive", dtype, compute};
  return {kFile, "gpuforge::matmul_tiled", dtype, compute, config.rows, config.columns, config.depth};
}

std::shared_ptr<const jit::Kernel> matmul_kernel(Context& context, DType dtype, const MatmulConfig& config) {
  return context.jit().embedded_kernel(matmul_kernel_id(dtype, config), context.device());
}

Array matmul(const Array& a, const Array& b, const MatmulOptions& options, device::Stream& stream) {
  const Shape shape = matmul_shape(a.shape(), b.shape());
  check_device("matmul", "b", b, a);
  GPUFORGE_CHECK(&a.device() == &stream.device(), "matmul: the operands are on {}, the stream is of {}",
                 a.device().facts().name, stream.device().facts().name);
  const DType dtype = promote(a.dtype(), b.dtype());
  if (options.out != nullptr) {
    check_device("matmul", "out", *options.out, a);
    check_dtype("matmul", "out", *options.out, dtype);
    check_shape("matmul", "out", *options.out, shape);
    check_output("matmul", "out", *options.out, a);
    check_output("matmul", "out", *options.out, b);
  }
  const Array result =
      options.out != nullptr ? *options.out : empty(a.context().shared_from_this(), shape, dtype, stream);
  const Array first = as_matrix(a, true), second = as_matrix(b, false);
  const Shape batch = broadcast_shapes(batch_of(first.shape()), batch_of(second.shape()));
  const auto converted = [&](const Array& array) {
    return with_batch(array.dtype() == dtype ? array : array.astype(dtype, stream), batch);
  };
  const Array left = converted(first), right = converted(second);
  // The axes that operands of one axis do not have come back as strides alone.
  Array out = result;
  if (a.rank() == 1 || b.rank() == 1) {
    Shape matrix = batch;
    matrix.push_back(first.shape()[first.rank() - 2]);
    matrix.push_back(second.shape().back());
    out = result.reshape(matrix);
  }
  const MatmulProblem problem = matmul_problem(out, left, right);
  const device::DeviceFacts& facts = a.device().facts();
  const MatmulConfig config = options.config != nullptr
                                  ? matmul_config(options.variant, dtype, *options.config)
                                  : choose_matmul({problem.m, problem.n, problem.k, problem.batches}, dtype,
                                                  options.variant, facts, a.context().tuning())
                                        .config;
  if (out.size() == 0) return result;
  if (problem.k == 0) {
    Array zero = result;
    zero.fill(0, stream);
    return result;
  }
  if (facts.kind == device::DeviceKind::cpu) {
    matmul_cpu(out, left, right, problem, stream);
  } else {
    launch(out, left, right, problem, config, stream);
  }
  return result;
}

}  // namespace gpuforge::ops
