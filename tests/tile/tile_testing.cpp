#include "tests/tile/tile_testing.h"

#include <algorithm>
#include <span>
#include <utility>

#include "gpuforge/base/embedded.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge {
std::span<const EmbeddedFile> tile_test_files();  // made from the .cu files when this is built
}

namespace gpuforge::tile_tests {

std::ostream& operator<<(std::ostream& out, const Place& place) {
  return out << place.name;
}

jit::KernelSource source(const std::string& file) {
  for (const EmbeddedFile& embedded : tile_test_files())
    if (embedded.path.ends_with("/" + file)) return {.name = file, .text = std::string(embedded.text)};
  throw Error(ErrorCode::invalid_argument, "no kernel file " + file + " in this program");
}

void TileTest::SetUp() {
  const Environment environment = read_environment();
  std::shared_ptr<device::Device> device;
  try {
    device = device::open_device(GetParam().device, cuda::search_options(environment));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable) throw;
    GTEST_SKIP() << "no " << GetParam().device << " here: " << error.what();
  }
  ContextOptions options;
  options.jit = jit_options(environment);
  options.jit.cache_dir.reset();  // a test leaves nothing in the user's cache
  options.jit.compiler = GetParam().compiler;
  sim_ = std::dynamic_pointer_cast<device::SimDevice>(device);
  context_ = Context::make(device, std::move(options));
  try {
    if (context_->jit().compiles_with_clang()) {
      context_->jit().compile({.name = "nothing.cu", .text = "extern \"C\" __global__ void nothing() {}"},
                              jit::Arch::parse("compute_90"));
    } else {
      context_->jit().compiler().version();
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable) throw;
    GTEST_SKIP() << "nothing to compile kernels with: " << error.what();
  }
  stream_ = context_->make_stream();
}

std::optional<sim::LaunchReport> TileTest::finish() {
  try {
    stream_->synchronize();
  } catch (const Error& error) {
    if (!simulated()) throw;
    ADD_FAILURE() << error.what();
  }
  if (!simulated()) return std::nullopt;
  const sim::LaunchReport report = sim_->take_reports().back();
  EXPECT_TRUE(report.clean()) << report.text();
  return report;
}

namespace {

bool ran(const sim::SiteReport& site, std::string_view instruction) {
  return site.counters.requests > 0 && site.place.instruction.starts_with(instruction);
}

}  // namespace

std::uint64_t widest_access(const sim::LaunchReport& report, std::string_view instruction) {
  std::uint64_t widest = 0;
  for (const sim::SiteReport& site : report.sites)
    if (ran(site, instruction))
      widest = std::max(widest, site.counters.requested_bytes / site.counters.thread_instructions);
  return widest;
}

sim::SiteCounters counters(const sim::LaunchReport& report, std::string_view instruction) {
  sim::SiteCounters sum;
  for (const sim::SiteReport& site : report.sites) {
    if (!ran(site, instruction)) continue;
    sum.requests += site.counters.requests;
    sum.sectors += site.counters.sectors;
    sum.wavefronts += site.counters.wavefronts;
    sum.ideal_wavefronts += site.counters.ideal_wavefronts;
    sum.requested_bytes += site.counters.requested_bytes;
  }
  return sum;
}

}  // namespace gpuforge::tile_tests
