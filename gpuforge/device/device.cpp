#include "gpuforge/device/device.h"

#include "gpuforge/base/error.h"
#include "gpuforge/device/stream_checks.h"

namespace gpuforge::device {

std::string_view name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cuda:
      return "cuda";
    case DeviceKind::sim:
      return "sim";
    case DeviceKind::cpu:
      return "cpu";
  }
  return "unknown";
}

std::shared_ptr<Stream> Device::adopt_stream(std::uintptr_t) {
  throw Error(ErrorCode::unsupported,
              format_text("{}: its streams have no handles of another library", facts().name));
}

std::vector<std::shared_ptr<ComputePart>> Device::split_compute(std::span<const double>) {
  throw Error(
      ErrorCode::unsupported,
      format_text("{}: has no multiprocessors to split; a GPU with green contexts (CUDA 12.5 and newer) has",
                  facts().name));
}

void check_fill(Address to, std::size_t pattern_bytes, std::string_view device_name) {
  GPUFORGE_CHECK(pattern_bytes == 1 || pattern_bytes == 2 || pattern_bytes == 4,
                 "{}: fill: a pattern has 1, 2 or 4 bytes, not {}", device_name, pattern_bytes);
  GPUFORGE_CHECK(to % pattern_bytes == 0, "{}: fill: address {} is not a multiple of the pattern's {} bytes",
                 device_name, to, pattern_bytes);
}

}  // namespace gpuforge::device
