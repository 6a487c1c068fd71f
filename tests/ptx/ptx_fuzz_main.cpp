// ptx_fuzz_test [--seeds N] [--first N]: the tests, over so many random kernels.
// ptx_fuzz_test --record FILE: no tests; writes what the .approx instructions give on this machine's GPU.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "tests/ptx/approx_record.h"

namespace gpuforge::ptx_files {
namespace {

void record_approx(const std::string& path) {
  std::string why;
  const auto device = open_gpu(&why);
  GPUFORGE_CHECK(device != nullptr, "--record needs a GPU: {}", why);
  const GpuModule module(device, approx_module(), "approx.ptx");
  const std::string machine =
      format_text("{}, driver {}", device->facts().product, device->facts().driver_version);
  const ApproxRecord record =
      make_record(machine, [&](std::string_view entry, const Shape& shape, std::vector<Bytes>& buffers) {
        module.run(entry, shape, buffers);
      });
  write_file(path, record_text(record));
  std::printf("%zu functions of %s: %s\n", record.results.size(), machine.c_str(), path.c_str());
}

}  // namespace
}  // namespace gpuforge::ptx_files

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    if (argc == 3 && std::string_view(argv[1]) == "--record") {
      gpuforge::ptx_files::record_approx(argv[2]);
      return 0;
    }
    GPUFORGE_CHECK(argc == 1, "unknown argument {}", argv[1]);
    return RUN_ALL_TESTS();
  } catch (const gpuforge::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
