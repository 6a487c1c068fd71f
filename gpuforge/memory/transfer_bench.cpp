// The transfer engine beside what it stands on, in the same run: copies both ways with a kernel, bandwidth of
// pinned memory, how long an urgent copy takes beside a huge one, pageable memory beside the driver's own
// staging.
//
// transfer_bench [--device NAME] [--json] [--quick] [--piece-mib N] [--in-flight-mib N] [--staging-threads N]
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/json.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/memory/allocator.h"
#include "gpuforge/memory/transfer_engine.h"

namespace gpuforge::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Multiplies and adds `rounds` times in every thread, and writes nothing unless the result is impossible.
constexpr std::string_view kPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry spin(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %p<3>;
  .reg .b32 %r<3>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [rounds];
  mov.f32 %f1, 0f3F800000;
  mov.u32 %r2, 0;
LOOP:
  fma.rn.f32 %f1, %f1, 0f3F7FFFFE, 0f33800000;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra LOOP;
  setp.lt.f32 %p2, %f1, 0f00000000;
  @%p2 st.global.f32 [%rd1], %f1;
  ret;
}
)";

struct Arguments {
  std::string device;
  bool json = false;
  bool quick = false;
  std::size_t piece_mib = 0, in_flight_mib = 0;  // 0: as they are
  int staging_threads = 0;
};

struct Row {
  std::string name, size, unit;
  double raw = 0, ours = 0;
  bool higher_is_better = true;
  std::string note;
  double ratio() const { return raw == 0 || ours == 0 ? 0 : higher_is_better ? ours / raw : raw / ours; }
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double ms_of(const std::function<void()>& work) {
  const double start_us = transfer_clock_us();
  work();
  return (transfer_clock_us() - start_us) / 1e3;
}

std::string size_text(std::size_t bytes) {
  return bytes < kMiB ? format_text("{} KiB", bytes / 1024) : format_text("{} MiB", bytes / kMiB);
}

class Pinned {
 public:
  Pinned(device::Device& device, std::size_t bytes)
      : device_(device), data_(static_cast<char*>(device.allocate_pinned(bytes))) {
    std::memset(data_, 1, bytes);
  }
  ~Pinned() { device_.free_pinned(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  char* data() const { return data_; }

 private:
  device::Device& device_;
  char* data_;
};

// Work for the device that takes about as long as it is told.
class Compute {
 public:
  explicit Compute(device::Device& device) : stream_(device.make_stream()) {
    if (device.facts().kind != device::DeviceKind::cuda) return;
    function_ = device.load_module(std::as_bytes(std::span(kPtx)), "transfer_bench")->function("spin", 2);
    blocks_ = static_cast<std::uint32_t>(device.facts().multiprocessors) * 4;
    launch(1000);
    stream_->synchronize();
    constexpr std::uint32_t kRounds = 1'000'000;
    const double took_ms = ms_of([&] {
      launch(kRounds);
      stream_->synchronize();
    });
    rounds_per_ms_ = kRounds / took_ms;
  }
  void start(double ms) {
    if (function_ != nullptr) return launch(static_cast<std::uint32_t>(ms * rounds_per_ms_));
    stream_->enqueue([ms] {
      for (const double end = transfer_clock_us() + ms * 1e3; transfer_clock_us() < end;) {
      }
    });
  }
  void wait() { stream_->synchronize(); }

 private:
  void launch(std::uint32_t rounds) {
    std::uint64_t out = 0;
    void* const parameters[] = {&out, &rounds};
    stream_->launch(*function_, {.grid = {blocks_}, .block = {256}}, parameters);
  }
  std::shared_ptr<device::Stream> stream_;
  std::shared_ptr<device::Function> function_;
  std::uint32_t blocks_ = 1;
  double rounds_per_ms_ = 1;
};

struct Bench {
  Bench(std::shared_ptr<device::Device> opened, const Arguments& given)
      : device(std::move(opened)),
        engine(device, engine_options(given)),
        up(device->make_stream()),
        down(device->make_stream()),
        big(device->facts().kind == device::DeviceKind::cuda && !given.quick),
        repeats(given.quick ? 3 : 9) {}

  static TransferEngineOptions engine_options(const Arguments& given) {
    TransferEngineOptions options;
    for (LaneLimits* lane : {&options.limits.to_device, &options.limits.to_host}) {
      if (given.piece_mib > 0) lane->piece_bytes = given.piece_mib * kMiB;
      if (given.in_flight_mib > 0) lane->bytes = given.in_flight_mib * kMiB;
    }
    if (given.staging_threads > 0) options.staging_threads = given.staging_threads;
    return options;
  }
  Buffer memory(std::size_t bytes) const {
    Buffer made(make_device_allocator(device), bytes, up);
    up->synchronize();
    return made;
  }

  std::shared_ptr<device::Device> device;
  TransferEngine engine;
  std::shared_ptr<device::Stream> up, down;
  bool big;
  int repeats;
  std::vector<Row> rows;
};

// Nothing is timed that was not checked in the same run: there and back, pinned and pageable.
void check(Bench& bench) {
  const std::size_t bytes = 9 * kMiB + 13;
  const Pinned pinned(*bench.device, bytes);
  std::vector<char> pattern(bytes), pageable(bytes);
  for (std::size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<char>(i * 131 + i / 4099);
  const Buffer memory = bench.memory(bytes);
  for (const bool is_pinned : {true, false}) {
    char* const host = is_pinned ? pinned.data() : pageable.data();
    std::memcpy(host, pattern.data(), bytes);
    bench.up->fill(memory.address(), 0, 1, bytes);
    bench.up->synchronize();
    bench.engine.to_device(memory.address(), host, bytes, {.pinned = is_pinned}).wait();
    std::memset(host, 0, bytes);
    bench.engine.to_host(host, memory.address(), bytes, {.pinned = is_pinned}).wait();
    GPUFORGE_ASSERT(std::memcmp(host, pattern.data(), bytes) == 0,
                    "transfer_bench: {} memory came back changed", is_pinned ? "pinned" : "pageable");
  }
}

void overlap(Bench& bench) {
  const std::size_t bytes = (bench.big ? 1024 : 64) * kMiB;
  const Pinned from(*bench.device, bytes), to(*bench.device, bytes);
  const Buffer one = bench.memory(bytes), two = bench.memory(bytes);
  Compute compute(*bench.device);
  const auto raw_up = [&] { bench.up->copy_to_device(one.address(), from.data(), bytes); };
  const auto raw_down = [&] { bench.down->copy_to_host(to.data(), two.address(), bytes); };
  const double up_ms = ms_of([&] { raw_up(), bench.up->synchronize(); });
  const double down_ms = ms_of([&] { raw_down(), bench.down->synchronize(); });
  const double kernel_ms = std::max(up_ms, down_ms);
  std::vector<double> raw, ours;
  for (int i = 0; i < bench.repeats; ++i) {
    raw.push_back(ms_of([&] {
      compute.start(kernel_ms);
      raw_up();
      raw_down();
      bench.up->synchronize();
      bench.down->synchronize();
      compute.wait();
    }));
    ours.push_back(ms_of([&] {
      compute.start(kernel_ms);
      const Transfer going = bench.engine.to_device(one.address(), from.data(), bytes, {.pinned = true});
      const Transfer coming = bench.engine.to_host(to.data(), two.address(), bytes, {.pinned = true});
      going.wait();
      coming.wait();
      compute.wait();
    }));
  }
  bench.rows.push_back(
      {"both ways and a kernel", size_text(bytes), "ms", median(raw), median(ours), false,
       format_text("target 0.90; one after the other {:.2f} ms", up_ms + down_ms + kernel_ms)});
}

void bandwidth(Bench& bench) {
  const std::vector<std::size_t> sizes =
      bench.big ? std::vector<std::size_t>{64 * 1024, kMiB, 16 * kMiB, 256 * kMiB, 1024 * kMiB}
                : std::vector<std::size_t>{64 * 1024, kMiB, 16 * kMiB, 64 * kMiB};
  const Pinned host(*bench.device, sizes.back());
  const Buffer memory = bench.memory(sizes.back());
  for (const bool up : {true, false}) {
    for (const std::size_t bytes : sizes) {
      std::vector<double> raw, ours;
      for (int i = 0; i < bench.repeats; ++i) {
        raw.push_back(ms_of([&] {
          up ? bench.up->copy_to_device(memory.address(), host.data(), bytes)
             : bench.up->copy_to_host(host.data(), memory.address(), bytes);
          bench.up->synchronize();
        }));
        ours.push_back(ms_of([&] {
          const TransferOptions pinned{.pinned = true};
          (up ? bench.engine.to_device(memory.address(), host.data(), bytes, pinned)
              : bench.engine.to_host(host.data(), memory.address(), bytes, pinned))
              .wait();
        }));
      }
      const double gb = static_cast<double>(bytes) / 1e6;
      bench.rows.push_back({up ? "pinned to the device" : "pinned to the host", size_text(bytes), "GB/s",
                            gb / median(raw), gb / median(ours), true,
                            bytes >= 256 * kMiB ? "target 0.95" : ""});
    }
  }
}

void urgent(Bench& bench) {
  const std::size_t huge_bytes = (bench.big ? 4096 : 256) * kMiB, small = 64 * 1024;
  const Pinned host(*bench.device, huge_bytes), small_host(*bench.device, small);
  const Buffer memory = bench.memory(huge_bytes), small_memory = bench.memory(small);
  const double behind_ms = ms_of([&] {
    bench.up->copy_to_device(memory.address(), host.data(), huge_bytes);
    bench.up->copy_to_device(small_memory.address(), small_host.data(), small);
    bench.up->synchronize();
  });
  const auto one = [&] {
    return ms_of([&] {
      bench.engine
          .to_device(small_memory.address(), small_host.data(), small, {.priority = 1, .pinned = true})
          .wait();
    });
  };
  std::vector<double> alone, beside;
  for (int i = 0; i < 50; ++i) alone.push_back(one());
  const Transfer huge = bench.engine.to_device(memory.address(), host.data(), huge_bytes, {.pinned = true});
  while (!huge.done() && beside.size() < 2000) {
    const double took = one();
    if (!huge.done()) beside.push_back(took);
  }
  huge.wait();
  if (beside.empty()) beside.push_back(0);
  std::ranges::sort(beside);
  const double p99 = beside[beside.size() * 99 / 100];
  bench.rows.push_back({"urgent beside " + size_text(huge_bytes), size_text(small), "ms", behind_ms,
                        median(beside), false,
                        format_text("p99 {:.3f} ms of {}, alone {:.3f} ms; raw: behind it on the same stream",
                                    p99, beside.size(), median(alone))});
}

void staging(Bench& bench) {
  const std::size_t bytes = (bench.big ? 1024 : 64) * kMiB;
  std::vector<char> host(bytes, 1);
  const Buffer memory = bench.memory(bytes);
  for (const bool up : {true, false}) {
    std::vector<double> raw, ours;
    for (int i = 0; i < bench.repeats; ++i) {
      raw.push_back(ms_of([&] {
        up ? bench.up->copy_to_device(memory.address(), host.data(), bytes)
           : bench.up->copy_to_host(host.data(), memory.address(), bytes);
        bench.up->synchronize();
      }));
      ours.push_back(ms_of([&] {
        (up ? bench.engine.to_device(memory.address(), host.data(), bytes)
            : bench.engine.to_host(host.data(), memory.address(), bytes))
            .wait();
      }));
    }
    const double gb = static_cast<double>(bytes) / 1e6;
    bench.rows.push_back({up ? "pageable to the device" : "pageable to the host", size_text(bytes), "GB/s",
                          gb / median(raw), gb / median(ours), true, "raw: the driver's own staging"});
  }
}

void print(const Bench& bench, bool json) {
  const device::DeviceFacts& facts = bench.device->facts();
  if (!json) {
    std::printf("%s (%s), median of %d\n%-28s %9s %5s %10s %10s %7s\n", facts.name.c_str(),
                facts.product.c_str(), bench.repeats, "case", "size", "unit", "raw", "engine", "ratio");
    for (const Row& row : bench.rows) {
      std::printf("%-28s %9s %5s %10.3f %10.3f %7.3f  %s\n", row.name.c_str(), row.size.c_str(),
                  row.unit.c_str(), row.raw, row.ours, row.ratio(), row.note.c_str());
    }
    return;
  }
  Json rows = Json::array();
  for (const Row& row : bench.rows) {
    Json one = Json::object();
    one.set("case", row.name).set("size", row.size).set("unit", row.unit);
    one.set("raw", row.raw).set("engine", row.ours).set("ratio", row.ratio()).set("note", row.note);
    rows.push_back(std::move(one));
  }
  Json all = Json::object();
  all.set("device", facts.name).set("product", facts.product).set("rows", std::move(rows));
  std::printf("%s\n", all.dump(2).c_str());
}

Arguments parse(std::span<char* const> words) {
  Arguments given;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto value = [&]() -> std::string_view {
      GPUFORGE_CHECK(i + 1 < words.size(), "transfer_bench: {} needs a value", word);
      return words[++i];
    };
    const auto number = [&]() -> int {
      const std::string_view text = value();
      int read = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
      GPUFORGE_CHECK(error == std::errc() && end == text.data() + text.size() && read > 0 && read <= 4096,
                     "transfer_bench: {} needs a number from 1 to 4096, and got '{}'", word, text);
      return read;
    };
    if (word == "--device") {
      given.device = value();
    } else if (word == "--json") {
      given.json = true;
    } else if (word == "--quick") {
      given.quick = true;
    } else if (word == "--piece-mib") {
      given.piece_mib = static_cast<std::size_t>(number());
    } else if (word == "--in-flight-mib") {
      given.in_flight_mib = static_cast<std::size_t>(number());
    } else if (word == "--staging-threads") {
      given.staging_threads = number();
    } else {
      throw Error(
          ErrorCode::invalid_argument,
          format_text("transfer_bench: unknown argument '{}'; there are --device NAME, --json, --quick, "
                      "--piece-mib N, --in-flight-mib N, --staging-threads N",
                      word));
    }
  }
  return given;
}

int run(std::span<char* const> words) {
  try {
    const Arguments given = parse(words);
    const cuda::SearchOptions search = cuda::search_options(read_environment());
    std::string fallback;
    const auto device = given.device.empty() ? device::open_default_device(search, &fallback)
                                             : device::open_device(given.device, search);
    if (!fallback.empty()) std::fprintf(stderr, "%s\n", fallback.c_str());
    Bench bench(device, given);
    check(bench);
    overlap(bench);
    bandwidth(bench);
    urgent(bench);
    staging(bench);
    print(bench, given.json);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code() == ErrorCode::invalid_argument ? 2 : error.code() == ErrorCode::unavailable ? 3 : 4;
  }
}

}  // namespace
}  // namespace gpuforge::memory

int main(int count, char** words) {
  return gpuforge::memory::run({words, static_cast<std::size_t>(count)});
}
