#include "gpuforge/ops/copy_transpose/copy_transpose.h"

#include <algorithm>
#include <limits>

#include "gpuforge/kernels/device_type.h"
#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "copy_transpose";
constexpr std::string_view kFile = "gpuforge/ops/copy_transpose/copy_transpose.cu";
constexpr int kNaiveThreads = 256;  // the naive kernel's launch bound

// The same members as Matrix in copy_transpose.cu.
struct DeviceMatrix {
  std::int64_t rows, columns, x_row, x_column, out_row, out_column;
};

void check_arguments(const Array& out, const Array& x, const CopyTransposeOptions& options) {
  GPUFORGE_CHECK(x.rank() == 2, "{}: x must have two axes; found shape {}", kName, to_string(x.shape()));
  check_floating(kName, "x", x);
  check_device(kName, "out", out, x);
  check_dtype(kName, "out", out, x.dtype());
  check_shape(kName, "out", out, {x.shape()[1], x.shape()[0]});
  check_output(kName, "out", out, x);
  GPUFORGE_CHECK(options.tile_size == 0 || options.tile_size == 16 || options.tile_size == 32,
                 "{}: tile_size is 16, 32 or 0 (its own choice); found {}", kName, options.tile_size);
}

device::LaunchConfig launch_config(const TransposeProblem& problem, const TransposeConfig& config,
                                   const device::DeviceFacts& facts) {
  device::LaunchConfig launch;
  if (config.tile == 0) {
    const std::int64_t wanted = (problem.rows * problem.columns + kNaiveThreads - 1) / kNaiveThreads;
    const std::int64_t most = std::int64_t{std::max(facts.multiprocessors, 1)} * 32;
    launch.grid.x = static_cast<std::uint32_t>(std::min(wanted, most));
    launch.block.x = kNaiveThreads;
    return launch;
  }
  const auto tiles = [&](std::int64_t extent) { return (extent + config.tile - 1) / config.tile; };
  const std::int64_t blocks = tiles(problem.rows) * tiles(problem.columns);
  GPUFORGE_CHECK(blocks <= std::numeric_limits<std::int32_t>::max(),
                 "{}: {} tiles of {} are more than a grid has; take the naive variant", kName, blocks,
                 config.tile);
  launch.grid.x = static_cast<std::uint32_t>(blocks);
  launch.block = {static_cast<std::uint32_t>(config.tile), static_cast<std::uint32_t>(config.rows), 1};
  return launch;
}

}  // namespace

Config to_config(const TransposeConfig& config) {
  if (config.tile == 0) return {};
  return {{"tile", config.tile}, {"rows", config.rows}};
}

TransposeConfig transpose_config(const Config& config) {
  TransposeConfig result{.tile = 0};
  for (const auto& [key, value] : config) {
    if (key == "tile" && (value == 16 || value == 32)) {
      result.tile = static_cast<int>(value);
    } else if (key == "rows" && (value == 1 || value == 2 || value == 4 || value == 8 || value == 16)) {
      result.rows = static_cast<int>(value);
    } else {
      throw Error(ErrorCode::invalid_argument,
                  format_text("{}: there is no configuration {}={} (tile: 16, 32; rows: 1, 2, 4, 8, 16)",
                              kName, key, value));
    }
  }
  return result;
}

TuningKey transpose_tuning_key(const TransposeProblem& problem, std::string_view variant) {
  return {std::string(kName), std::string(variant), problem.dtype,
          shape_class({problem.rows, problem.columns})};
}

TransposeChoice choose_transpose(const TransposeProblem& problem, std::string_view variant, int tile_size,
                                 const TuningTable& table) {
  if (variant == "naive") return {{.tile = 0}, "the naive variant has no choices"};
  GPUFORGE_CHECK(variant == "tiled" || variant == "best",
                 "{}: there is no variant '{}'; it has best, tiled, naive", kName, variant);
  if (tile_size != 0) return {{.tile = tile_size}, format_text("tile_size {} was asked for", tile_size)};
  if (const Config* const tuned = table.find(transpose_tuning_key(problem, variant))) {
    return {transpose_config(*tuned), "tuned on this device"};
  }
  return {{}, "tiles of 32: rows of 64 bytes or more on both sides"};
}

std::string transpose_expression(DType dtype, const TransposeConfig& config) {
  const std::string_view type = bits_type(element_bytes(dtype));
  if (config.tile == 0) return format_text("gpuforge::transpose_naive<{}>", type);
  return format_text("gpuforge::transpose_tiled<{}, {}, {}>", type, config.tile, config.rows);
}

std::shared_ptr<const jit::Kernel> transpose_kernel(Context& context, DType dtype,
                                                    const TransposeConfig& config) {
  return context.jit().embedded_kernel(kFile, transpose_expression(dtype, config), context.device());
}

void copy_transpose(Array& out, const Array& x, const CopyTransposeOptions& options, device::Stream& stream) {
  check_arguments(out, x, options);
  const TransposeProblem problem{x.shape()[0], x.shape()[1], x.dtype()};
  Context& context = x.context();
  const TransposeConfig config =
      options.config != nullptr
          ? transpose_config(*options.config)
          : choose_transpose(problem, options.variant, options.tile_size, context.tuning()).config;
  if (x.size() == 0) return;
  if (context.device().facts().kind == device::DeviceKind::cpu) return copy_transpose_cpu(out, x, stream);

  const auto kernel = transpose_kernel(context, problem.dtype, config);
  const DeviceMatrix matrix{problem.rows,   problem.columns,  x.strides()[0],
                            x.strides()[1], out.strides()[0], out.strides()[1]};
  (*kernel)(launch_config(problem, config, context.device().facts()), stream, out, x, matrix);
}

Array copy_transpose(const Array& x, const CopyTransposeOptions& options, device::Stream& stream) {
  GPUFORGE_CHECK(x.rank() == 2, "{}: x must have two axes; found shape {}", kName, to_string(x.shape()));
  Array out = empty(x.context().shared_from_this(), {x.shape()[1], x.shape()[0]}, x.dtype(), stream);
  copy_transpose(out, x, options, stream);
  return out;
}

}  // namespace gpuforge::ops
