// The compile-time choices of kernels that are written with kernels/row_group.cuh, and how one is chosen: the
// same for every op that goes over rows more than once. Not installed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/ops/reason.h"
#include "gpuforge/ops/unit_rows.h"

namespace gpuforge::ops {

struct RowConfig {
  int threads = 32;      // of a row
  int rows = 4;          // of a block
  int vector = 1;        // elements a load
  int items = 0;         // elements of a row that a thread holds in registers; 0: the row is read again
  bool columns = false;  // threads side by side have rows side by side
  int cluster = 1;       // blocks that hold one row together, `threads` and `items` in each
  RowForm form = RowForm::any;  // no choice: as the rows are
  friend bool operator==(const RowConfig&, const RowConfig&) = default;
};
Config to_config(const RowConfig& config);  // without a cluster of one

inline constexpr int kAheadParts = 3;
// What the choice depends on.
struct RowProblem {
  std::string_view op;
  std::int64_t count = 0;
  std::int64_t length = 0;
  DType dtype = DType::f32;
  int vector = 1;        // the most elements a load may have
  bool columns = false;  // neighbours in memory are neighbouring rows
  int held_bytes = 0;    // what a thread may hold of each array; 0: nothing
  int thread_bytes = 0;  // what a thread had best hold of each array; 0: as the rows are
  RowForm form = RowForm::any;
  int arrays = 0;                 // that are held, of a kernel that reads ahead; 0: it does not
  int ahead_parts = kAheadParts;  // one of so many parts of the rows that a device has at once lies ahead
  int block_bytes = 64;  // of each array, a thread: rows for which a block would need more, a cluster has
  // Where the device has clusters, blocks that a row may have, what a thread of such a block may hold of each
  // array, and how many of the arrays are held in shared memory, not in registers.
  int most_cluster = 1;
  int cluster_held_bytes = 0;
  int cluster_bytes = 64;  // and had best hold, as long as it is enough
  int cluster_shared_arrays = 0;
};
inline constexpr int kMostCluster = 16;  // 8 are what every device with clusters has
// Of the arrays that are there (`starts`); a load has at most 16 bytes. `beside`: of those that the kernel
// loads from wherever they begin; rows are whole only where these are aligned too.
RowProblem row_problem(std::string_view op, const Rows& rows, std::span<const RowStart> starts, DType dtype,
                       int held_bytes, std::span<const RowStart> beside = {});

// From the names and values of a Config, changed to what the arrays allow: loads no wider than they are
// aligned, and nothing held, by one block, of rows that are too long for it. invalid_argument for names and
// values that no kernel has.
RowConfig row_config(const Config& config, const RowProblem& problem);
// Those worth trying.
std::vector<RowConfig> row_configs(const RowProblem& problem, const device::DeviceFacts& facts);

struct RowChoice {
  RowConfig config;
  Reason reason;
};
TuningKey row_tuning_key(const RowProblem& problem, std::string_view variant);
// What is launched: `config` where one was given, else the tuned one, else by shape. Pure. The variant
// "naive" has a thread for each row and no choices. unavailable when a cluster was asked for and the device
// has none.
RowChoice choose_row_config(const RowProblem& problem, std::string_view variant, const Config* config,
                            const device::DeviceFacts& facts, const TuningTable& table);

// gpuforge::softmax_online<gpuforge::half_t, 8, 16, 64, 2, false>; behind that the form and the cluster,
// where they are not RowForm::any and 1.
jit::KernelId row_kernel_id(jit::FixedText file, jit::FixedText kernel, DType dtype, const RowConfig& config);
// A block for each config.rows rows, or a cluster for each row; invalid_argument when a grid has not so many.
RowLaunch row_launch(const RowProblem& problem, const RowConfig& config, const device::DeviceFacts& facts);

}  // namespace gpuforge::ops
