// ptx_fuzz_test [--seeds N] [--first N] [--failures N]: the tests, over so many random kernels.
// ptx_fuzz_test --print [--seeds N] [--first N]: the kernels themselves, as one module.
// ptx_fuzz_test --record FILE: what the .approx instructions give on this machine's GPU.
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "tests/ptx/approx_record.h"
#include "tests/ptx/random_kernel.h"
#include "tests/ptx/random_kernel_test.h"

namespace gpuforge::ptx_files {
namespace {

struct Arguments {
  Seeds seeds;
  bool print = false;
  std::string record;
};

std::uint64_t number(std::string_view option, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  GPUFORGE_CHECK(error == std::errc{} && end == text.data() + text.size(), "{} takes a number, not '{}'",
                 option, text);
  return value;
}

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--print") {
      arguments.print = true;
      continue;
    }
    GPUFORGE_CHECK(i + 1 < argc && (option == "--seeds" || option == "--first" || option == "--failures" ||
                                    option == "--record"),
                   "unknown argument, or one without its value: {}", option);
    const std::string_view value = argv[++i];
    if (option == "--seeds") arguments.seeds.count = number(option, value);
    if (option == "--first") arguments.seeds.first = number(option, value);
    if (option == "--failures") arguments.seeds.most_failures = number(option, value);
    if (option == "--record") arguments.record = value;
  }
  return arguments;
}

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

int run(int argc, char** argv) {
  const Arguments arguments = read_arguments(argc, argv);
  if (!arguments.record.empty()) {
    record_approx(arguments.record);
    return 0;
  }
  if (arguments.print) {
    std::vector<RandomKernel> kernels;
    for (std::uint64_t i = 0; i < arguments.seeds.count; ++i)
      kernels.push_back(make_kernel(arguments.seeds.first + i));
    std::printf("%s", module_of(kernels).c_str());
    return 0;
  }
  register_random_kernel_tests(arguments.seeds);
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace gpuforge::ptx_files

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    return gpuforge::ptx_files::run(argc, argv);
  } catch (const gpuforge::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
