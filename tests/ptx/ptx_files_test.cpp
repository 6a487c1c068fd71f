// Every file of this folder on the simulator, and on a GPU where there is one. README.md says how they are
// written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gpuforge/base/embedded.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/cuda/driver.h"
#include "gpuforge/cuda/library.h"
#include "gpuforge/device/cuda_device.h"
#include "gpuforge/sim/simulator.h"
#include "tests/ptx/ptx_case.h"

namespace gpuforge {
std::span<const EmbeddedFile> ptx_test_files();  // made from the files when this is built
}

namespace gpuforge::ptx_files {
namespace {

constexpr auto kAlignment = std::align_val_t{256};  // what a GPU's allocations have

struct Release {
  void operator()(std::byte* bytes) const { ::operator delete(bytes, kAlignment); }
};
using Block = std::unique_ptr<std::byte, Release>;

std::string shown(const sim::Options& options) {
  return format_text("schedule {}, checks {}", options.schedule_seed, options.races ? "on" : "off");
}

void expect_same(const Argument& argument, std::span<const std::byte> found) {
  const std::string text = differences(argument, found);
  if (!text.empty()) ADD_FAILURE() << text;
}

// A buffer for each argument, with nothing but its own bytes to be found by the checks.
void run_on_sim(const PtxCase& test, const sim::Options& options) {
  SCOPED_TRACE(shown(options));
  const auto memory = std::make_shared<sim::Memory>();
  const auto program = sim::load_program(memory, test.text, test.name + ".ptx");
  std::vector<Block> blocks;
  std::vector<std::uint64_t> addresses(test.arguments.size());
  std::vector<const void*> parameters;
  for (std::size_t i = 0; i < test.arguments.size(); ++i) {
    const Argument& argument = test.arguments[i];
    const std::size_t bytes = argument.bytes.size();
    blocks.emplace_back(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    std::memcpy(blocks[i].get(), argument.bytes.data(), bytes);
    addresses[i] = reinterpret_cast<std::uint64_t>(blocks[i].get());
    parameters.push_back(argument.by_value ? static_cast<const void*>(blocks[i].get()) : &addresses[i]);
    if (!argument.by_value) memory->add(addresses[i], bytes, argument.name, argument.has_input);
  }
  const sim::Geometry geometry{.grid = {test.grid.x, test.grid.y, test.grid.z},
                               .block = {test.block.x, test.block.y, test.block.z},
                               .dynamic_shared_bytes = test.dynamic_shared_bytes,
                               .cluster = {test.cluster.x, test.cluster.y, test.cluster.z}};
  const sim::LaunchReport report = sim::launch(*program, test.entry, geometry, parameters, options);
  std::set<std::string> found;
  for (const sim::Finding& finding : report.findings) found.emplace(sim::name(finding.kind));
  const std::set<std::string> expected(test.findings.begin(), test.findings.end());
  if (options.races) {
    EXPECT_EQ(found, expected) << report.findings_text();
  }
  for (std::size_t i = 0; i < test.arguments.size(); ++i) {
    const Argument& argument = test.arguments[i];
    expect_same(argument, {blocks[i].get(), argument.bytes.size()});
  }
}

void run_on_gpu(const PtxCase& test, device::Device& device) {
  const auto module = device.load_module(std::as_bytes(std::span(test.text)), test.name + ".ptx");
  const auto function = module->function(test.entry);
  const auto stream = device.make_stream();
  std::vector<device::Address> addresses(test.arguments.size());
  std::vector<std::vector<std::byte>> bytes;
  std::vector<void*> parameters;
  for (const Argument& argument : test.arguments) bytes.push_back(argument.bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    parameters.push_back(test.arguments[i].by_value ? static_cast<void*>(bytes[i].data()) : &addresses[i]);
    if (test.arguments[i].by_value) continue;
    addresses[i] = device.allocate(bytes[i].size(), *stream);
    stream->copy_to_device(addresses[i], bytes[i].data(), bytes[i].size());
  }
  const device::LaunchConfig config{.grid = {test.grid.x, test.grid.y, test.grid.z},
                                    .block = {test.block.x, test.block.y, test.block.z},
                                    .dynamic_shared_bytes = test.dynamic_shared_bytes,
                                    .cluster = {test.cluster.x, test.cluster.y, test.cluster.z}};
  stream->launch(*function, config, parameters);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (test.arguments[i].by_value) continue;
    stream->copy_to_host(bytes[i].data(), addresses[i], bytes[i].size());
    device.free(addresses[i], *stream);
  }
  stream->synchronize();
  for (std::size_t i = 0; i < bytes.size(); ++i) expect_same(test.arguments[i], bytes[i]);
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const EmbeddedFile& file : ptx_test_files()) {
    const std::string_view path = file.path.substr(file.path.rfind('/') + 1);
    found.emplace_back(path.substr(0, path.rfind('.')));
  }
  return found;
}

PtxCase case_named(const std::string& name) {
  for (const EmbeddedFile& file : ptx_test_files())
    if (file.path.ends_with("/" + name + ".ptx")) return read_case(file.path, file.text);
  throw Error(ErrorCode::invalid_argument, format_text("no file {}.ptx", name));
}

class PtxFilesSim : public testing::TestWithParam<std::string> {};

TEST_P(PtxFilesSim, GivesWhatItsHeadSays) {
  const PtxCase test = case_named(GetParam());
  if (!test.cuda_only.empty()) GTEST_SKIP() << "on a GPU only: " << test.cuda_only;
  run_on_sim(test, {});
  // Another order of blocks, warps and lanes, and the handlers that check nothing, give the same.
  run_on_sim(test, {.schedule_seed = 7});
  run_on_sim(test, {.races = false, .initialized = false, .counters = false});
}

// One device for all files, because making one takes longer than most of them; a failure may have broken it.
class PtxFilesGpu : public testing::TestWithParam<std::string> {
 protected:
  static void TearDownTestSuite() { device_.reset(); }
  void TearDown() override {
    if (HasFailure()) device_.reset();
  }
  static device::Device* open(std::string* why) {
    if (device_ == nullptr) {
      const auto driver = cuda::Driver::try_load(cuda::search_options(read_environment()), why);
      if (driver != nullptr) device_ = device::make_cuda_device(driver, 0);
    }
    return device_.get();
  }

 private:
  static inline std::shared_ptr<device::Device> device_;
};

TEST_P(PtxFilesGpu, GivesWhatItsHeadSays) {
  const PtxCase test = case_named(GetParam());
  if (!test.sim_only.empty()) GTEST_SKIP() << "on the simulator only: " << test.sim_only;
  if (!test.findings.empty()) GTEST_SKIP() << "on the simulator only: what it does is not allowed";
  std::string why;
  device::Device* const device = open(&why);
  if (device == nullptr) GTEST_SKIP() << why;
  const int chip = device->facts().compute_major * 10 + device->facts().compute_minor;
  if (test.target > chip || (test.target_is_exact && test.target != chip))
    GTEST_SKIP() << "it is for sm_" << test.target << ", and this GPU is sm_" << chip;
  run_on_gpu(test, *device);
}

const auto named = [](const auto& tested) { return tested.param; };
INSTANTIATE_TEST_SUITE_P(Files, PtxFilesSim, testing::ValuesIn(names()), named);
INSTANTIATE_TEST_SUITE_P(Files, PtxFilesGpu, testing::ValuesIn(names()), named);

}  // namespace
}  // namespace gpuforge::ptx_files
