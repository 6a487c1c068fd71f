// Rows of neighbours at equal distances, for kernels that take them in a few words; any other rows as Rows.
// The device's side is gpuforge/kernels/unit_rows.cuh. Not installed.
#pragma once

#include "gpuforge/jit/kernel.h"
#include "gpuforge/ops/rows.h"

namespace gpuforge::ops {

// From every row to the next it is equally far, in every array.
inline bool has_equal_distances(const Rows& rows) {
  return rows.extents.size() <= 1;
}
// What kernels are compiled for; the numbers are those of unit_rows.cuh.
enum class RowForm : int {
  any = 0,
  unit = 1,   // of neighbours at equal distances, in every array
  whole = 2,  // and of whole vectors, each aligned, in every array
};
// `starts`: of the arrays that are there, `vector` elements a load.
RowForm row_form(const Rows& rows, std::span<const RowStart> starts, int vector);

// The same members as UnitRows in unit_rows.cuh.
template <std::size_t kArrays>
struct UnitDeviceRows {
  std::int64_t length = 0;
  std::int64_t count = 0;
  std::int64_t ahead = 0;
  std::array<std::int64_t, kArrays> strides{};
};

template <std::size_t kArrays>
UnitDeviceRows<kArrays> unit_device_rows(const Rows& rows, std::int64_t ahead = 0) {
  GPUFORGE_ASSERT(rows.array_count == kArrays && has_equal_distances(rows),
                  "{} outer axes of {} arrays for a kernel with {}", rows.extents.size(), rows.array_count,
                  kArrays);
  UnitDeviceRows<kArrays> result{.length = rows.length, .count = rows.count, .ahead = ahead};
  for (std::size_t a = 0; a < kArrays && !rows.extents.empty(); ++a)
    result.strides[a] = rows.arrays[a].strides[0];
  return result;
}

struct RowLaunch {
  device::LaunchConfig launch;
  RowForm form = RowForm::any;  // what the kernel was compiled for
  std::int64_t ahead = 0;       // of RowGroup::read_ahead, for what is not of any strides
};
// The rows come behind the other arguments.
template <std::size_t kArrays, typename... Arguments>
void launch_rows(const jit::Kernel& kernel, const RowLaunch& how, device::Stream& stream, const Rows& rows,
                 const Arguments&... arguments) {
  if (how.form != RowForm::any) {
    kernel(how.launch, stream, arguments..., unit_device_rows<kArrays>(rows, how.ahead));
  } else {
    kernel(how.launch, stream, arguments..., device_rows<kArrays>(rows));
  }
}

}  // namespace gpuforge::ops
