#include "gpuforge/jit/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "gpuforge/base/error.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/jit/compiler_memo.h"
#include "gpuforge/jit/fake_device_for_tests.h"
#include "gpuforge/jit/once_map.h"

namespace gpuforge::jit {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Arch kHopper{9, 0, 'a', false};

KernelSource source(std::string text, std::string name = "k.cu") {
  KernelSource result;
  result.name = std::move(name);
  result.text = std::move(text);
  return result;
}

KernelSource one_kernel(int value = 1) {
  return source("extern \"C\" __global__ void f(int* x) { *x = " + std::to_string(value) + "; }\n");
}

template <typename Call>
Error failure(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::internal, "no error");
}

class JitTest : public testing::Test {
 protected:
  std::shared_ptr<Log> log_ =
      std::make_shared<Log>(LogLevel::debug, [this](LogLevel level, std::string_view text) {
        lines_.push_back(format_text("{}: {}", name(level), text));
      });
  JitOptions options(bool with_cache) const {
    JitOptions result;
    result.search = cuda::search_options(read_environment());
    if (with_cache) result.cache_dir = folder_ / "cache";
    return result;
  }
  std::vector<std::string> lines_;
  TemporaryFolder folder_;
  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>();
  Jit jit_{options(false), log_};
};

TEST_F(JitTest, CompilesOncePerSourceAndArch) {
  const auto first = jit_.compile(one_kernel(), kHopper);
  EXPECT_EQ(jit_.compile(one_kernel(), kHopper), first);
  EXPECT_NE(jit_.compile(one_kernel(), {8, 0, 0, false}), first);
  EXPECT_NE(jit_.compile(one_kernel(2), kHopper), first);
  KernelSource defined = one_kernel();
  defined.defines = {"A"};
  EXPECT_NE(jit_.compile(defined, kHopper), first);
  EXPECT_EQ(jit_.counters().compiles, 4u);
  EXPECT_EQ(jit_.counters().memory_hits, 1u);
  EXPECT_EQ(jit_.counters().disk_hits, 0u);
  EXPECT_THAT(lines_, Contains(testing::MatchesRegex("(info|debug): compiled k.cu for sm_90a in [0-9]+ ms")));
}

TEST_F(JitTest, ManyThreadsCompileOnce) {
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<const Compiled>> results(8);
  for (auto& result : results) threads.emplace_back([&] { result = jit_.compile(one_kernel(), kHopper); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(jit_.counters().compiles, 1u);
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST_F(JitTest, FailuresAreNotKept) {
  const KernelSource broken = source("extern \"C\" __global__ void f() { oops; }\n");
  const Error first = failure([&] { jit_.compile(broken, kHopper); });
  EXPECT_EQ(first.code(), ErrorCode::compile);
  EXPECT_EQ(failure([&] { jit_.compile(broken, kHopper); }).message(), first.message());
  EXPECT_NO_THROW(jit_.compile(one_kernel(), kHopper));
}

TEST_F(JitTest, DiskCacheServesTheNextProcess) {
  std::string key;
  {
    Jit jit(options(true), log_);
    const auto compiled = jit.compile(one_kernel(), kHopper);
    EXPECT_FALSE(compiled->from_cache);
    key = compiled->key;
    EXPECT_EQ(key.size(), 32u);
    ASSERT_NE(jit.disk_cache(), nullptr);
    EXPECT_EQ(jit.disk_cache()->list().size(), 1u);
  }
  Jit jit(options(true), log_);
  KernelSource renamed = one_kernel();
  renamed.name = "elsewhere/k.cu";
  const auto again = jit.compile(renamed, kHopper);
  EXPECT_TRUE(again->from_cache);
  EXPECT_EQ(again->key, key);
  EXPECT_EQ(again->source_name, "elsewhere/k.cu");
  EXPECT_EQ(again->entries.at(0).parameters.at(0).declared_type, "int*");
  EXPECT_GT(again->entries.at(0).registers, 0);
  EXPECT_FALSE(again->cubin.empty());
  EXPECT_EQ(jit.counters().compiles, 0u);
  EXPECT_EQ(jit.counters().disk_hits, 1u);
}

TEST_F(JitTest, DiskHitsOpenNoLibrary) {
  Jit first(options(true), log_);
  first.compile(one_kernel(), kHopper);
  // An NVRTC that cannot be opened, and a memo that knows its version: the cache answers without it.
  JitOptions unusable = options(true);
  unusable.search = {};
  unusable.search.system = false;
  unusable.search.explicit_path = folder_.write("lib/libnvrtc.so.13", "no library").string();
  remember_compiler(*unusable.cache_dir, unusable.search, *unusable.search.explicit_path,
                    {first.compiler().version(), first.compiler().supported_archs()});
  Jit jit(unusable, log_);
  EXPECT_TRUE(jit.compile(one_kernel(), kHopper)->from_cache);
  EXPECT_EQ(jit.kernel(one_kernel(), "f", *device_)->entry().name, "f");
  const Error error = failure([&] { jit.compile(one_kernel(2), kHopper); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_THAT(error.message(), HasSubstr("NVRTC JIT compiler not available"));
}

TEST_F(JitTest, ABrokenCacheFolderStopsNothing) {
  folder_.write("cache", "a file");
  Jit jit(options(true), log_);
  EXPECT_FALSE(jit.compile(one_kernel(), kHopper)->from_cache);
  EXPECT_EQ(jit.counters().compiles, 1u);
}

TEST_F(JitTest, ComputedIncludesSkipTheDiskCache) {
  folder_.write("h.cuh", "#define VALUE 3\n");
  const auto file = folder_.write(
      "k.cu", "#define H \"h.cuh\"\n#include H\nextern \"C\" __global__ void f(int* x) { *x = VALUE; }\n");
  Jit jit(options(true), log_);
  jit.compile(source_from_file(file), kHopper);
  EXPECT_THAT(jit.disk_cache()->list(), IsEmpty());
  EXPECT_THAT(lines_, Contains(AllOf(HasSubstr("debug: "), HasSubstr("not kept in the disk cache"))));
}

TEST_F(JitTest, HeadersAreCoveredByTheKey) {
  folder_.write("h.cuh", "#define VALUE 111\n");
  const auto file =
      folder_.write("k.cu", "#include \"h.cuh\"\nextern \"C\" __global__ void f(int* x) { *x = VALUE; }\n");
  Jit(options(true), log_).compile(source_from_file(file), kHopper);
  folder_.write("h.cuh", "#define VALUE 222\n");
  const auto changed = Jit(options(true), log_).compile(source_from_file(file), kHopper);
  EXPECT_FALSE(changed->from_cache);
  EXPECT_THAT(changed->ptx, HasSubstr("222"));
}

TEST_F(JitTest, TheToolkitIsSearchedWhenNeeded) {
  if (toolkit_include_dirs(options(false).search).empty()) GTEST_SKIP() << "no CUDA headers on this machine";
  EXPECT_EQ(jit_.headers().toolkit, toolkit_include_dirs(options(false).search));
  Jit fresh(options(true), log_);
  fresh.compile(one_kernel(), kHopper);
  const auto half = fresh.compile(
      source(
          "#include <cuda_fp16.h>\nextern \"C\" __global__ void f(__half* x) { *x = __float2half(1.0f); }\n"),
      kHopper);
  EXPECT_EQ(half->entries.size(), 1u);
  // What is missing is looked for there, and the message says so.
  const Error error = failure([&] { fresh.compile(source("#include <no_such.h>\n"), kHopper); });
  EXPECT_THAT(error.message(), HasSubstr(fresh.headers().toolkit.front().string()));
}

TEST_F(JitTest, KernelsAreLoadedOnce) {
  const KernelSource both = source(
      "extern \"C\" __global__ void f(int* x) { *x = 1; }\nextern \"C\" __global__ void g(int* x) { *x = 2; "
      "}\n");
  const auto f = jit_.kernel(both, "f", *device_);
  EXPECT_EQ(f->entry().name, "f");
  EXPECT_EQ(device_->last_image, f->compiled().cubin);
  EXPECT_EQ(f->compiled().arch, kHopper);
  EXPECT_EQ(jit_.kernel(both, "f", *device_), f);
  const SourceHandle handle(both);
  EXPECT_EQ(jit_.kernel(handle, "f", *device_), f);
  EXPECT_EQ(jit_.kernel(handle, "g", *device_)->entry().name, "g");
  EXPECT_EQ(device_->loads, 1);
  EXPECT_EQ(jit_.counters().compiles, 1u);
  // Another device of the same arch loads the same code.
  const auto other = std::make_shared<FakeDevice>();
  EXPECT_NE(jit_.kernel(both, "f", *other), f);
  EXPECT_EQ(other->loads, 1);
  EXPECT_EQ(jit_.counters().compiles, 1u);
}

TEST_F(JitTest, LaunchesWhatItLoaded) {
  FakeStream stream(*device_);
  const auto kernel = jit_.kernel(one_kernel(), "", *device_);
  const device::Address address = 4096;
  (*kernel)({}, stream, address);
  EXPECT_EQ(stream.launches, 1);
  EXPECT_EQ(failure([&] { (*kernel)({}, stream, 1.0f); }).message(),
            "f: parameter 0 'x' is int* (8 bytes), got f32 (4 bytes)");
}

TEST_F(JitTest, WhichKernel) {
  EXPECT_EQ(jit_.kernel(one_kernel(), "", *device_)->entry().name, "f");
  const KernelSource both =
      source("extern \"C\" __global__ void f() {}\nextern \"C\" __global__ void g() {}\n");
  const Error several = failure([&] { jit_.kernel(both, "", *device_); });
  EXPECT_EQ(several.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(several.message(), HasSubstr("k.cu: the file has several kernels, name one of: "));
  EXPECT_THAT(several.message(), AllOf(HasSubstr("f"), HasSubstr("g")));
  EXPECT_THAT(failure([&] { jit_.kernel(both, "h", *device_); }).message(),
              HasSubstr("there is no kernel 'h'"));
  const Error none = failure([&] { jit_.kernel(source("__device__ int x;\n"), "", *device_); });
  EXPECT_EQ(none.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(none.message(), "k.cu: there is no kernel to launch: the file has no __global__ function");
  EXPECT_THAT(failure([&] {
                jit_.kernel(source("template <class T> __global__ void t(T* x) {}\n"), "t", *device_);
              }).message(),
              HasSubstr("name an instantiation such as f<float>"));
}

TEST_F(JitTest, DevicesNewerThanTheCompiler) {
  device_->mutable_facts().compute_major = 99;
  const auto kernel = jit_.kernel(one_kernel(), "f", *device_);
  EXPECT_TRUE(kernel->compiled().arch.is_virtual);
  EXPECT_EQ(kernel->compiled().arch.number(), jit_.compiler().supported_archs().back());
  EXPECT_THAT(device_->last_image, HasSubstr(".version"));
  jit_.kernel(one_kernel(2), "f", *device_);
  const auto warnings = std::count_if(lines_.begin(), lines_.end(), [](const std::string& line) {
    return line.starts_with("warning: NVRTC ") &&
           line.find("does not know sm_990a of fake:0") != std::string::npos;
  });
  EXPECT_EQ(warnings, 1);
}

TEST_F(JitTest, DriversOlderThanTheCompiler) {
  device_->mutable_facts().driver_version = 11040;
  device_->refusal = "cuLibraryLoadData: CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
  const Error error = failure([&] { jit_.kernel(one_kernel(), "f", *device_); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("the driver of fake:0 is of CUDA 11.4"),
                                     HasSubstr("made by NVRTC " + jit_.compiler().version()),
                                     HasSubstr("update the driver, or use an NVRTC of CUDA 11")));
  EXPECT_THAT(error.detail(), HasSubstr("UNSUPPORTED_PTX_VERSION"));
  // A driver that is new enough fails for its own reasons.
  device_->mutable_facts().driver_version = 99000;
  EXPECT_EQ(failure([&] { jit_.kernel(one_kernel(), "f", *device_); }).code(), ErrorCode::cuda);
}

TEST_F(JitTest, PtxFilesAreLoadedAsTheyAre) {
  const std::string ptx =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 n) { ret; }\n";
  const auto kernel = jit_.kernel_from_ptx(ptx, "k.ptx", "", *device_);
  EXPECT_EQ(device_->last_image, ptx);
  EXPECT_EQ(kernel->entry().parameters.at(0).name, "n");
  EXPECT_EQ(jit_.kernel_from_ptx(ptx, "k.ptx", "", *device_), kernel);
  EXPECT_EQ(failure([&] { jit_.kernel_from_ptx("garbage", "k.ptx", "", *device_); }).code(),
            ErrorCode::parse);
  EXPECT_THAT(failure([&] { jit_.kernel_from_ptx(ptx, "k.ptx", "q", *device_); }).message(),
              HasSubstr("k.ptx: there is no kernel 'q'; there is: k"));
  EXPECT_THAT(failure([&] { jit_.kernel_from_ptx(".version 8.0\n", "e.ptx", "", *device_); }).message(),
              HasSubstr("e.ptx: there is no kernel to launch"));
  EXPECT_EQ(jit_.counters().compiles, 0u);
}

TEST_F(JitTest, DevicesThatRunNoKernels) {
  device_->mutable_facts().compute_major = 0;
  device_->mutable_facts().name = "cpu";
  const Error error = failure([&] { jit_.kernel(one_kernel(), "f", *device_); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.message(), HasSubstr("cpu does not run kernels"));
}

TEST_F(JitTest, EmbeddedSources) {
  EXPECT_THAT(jit_.embedded_source("gpuforge/array/array.cu").text, HasSubstr("__global__"));
  const Error error = failure([&] { jit_.embedded_source("gpuforge/none.cu"); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error.message(), HasSubstr("no kernel file 'gpuforge/none.cu'"));
  // A tree on disk takes their place.
  folder_.write("tree/gpuforge/array/array.cu", "// edited\n");
  JitOptions edited = options(false);
  edited.kernel_dir = folder_ / "tree";
  EXPECT_EQ(Jit(edited, nullptr).embedded_source("gpuforge/array/array.cu").text, "// edited\n");
}

TEST(NativeArch, HasTheSuffixFromHopperOn) {
  const auto arch = [](int major, int minor, device::DeviceKind kind = device::DeviceKind::cuda) {
    device::DeviceFacts facts;
    facts.kind = kind;
    facts.compute_major = major;
    facts.compute_minor = minor;
    return native_arch(facts).name();
  };
  EXPECT_EQ(arch(8, 0), "sm_80");
  EXPECT_EQ(arch(8, 9), "sm_89");
  EXPECT_EQ(arch(9, 0), "sm_90a");
  EXPECT_EQ(arch(10, 0), "sm_100a");
  EXPECT_EQ(arch(12, 0), "sm_120a");
  EXPECT_EQ(arch(9, 0, device::DeviceKind::sim), "sm_90a");
}

TEST(NativeArch, OfTheSimulatorIsTheChipItPlays) {
  EXPECT_EQ(native_arch(device::sim_device_facts()).name(), "sm_90a");
  for (const char* const chip :
       {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100f", "sm_120a"}) {
    const device::DeviceFacts facts = device::sim_device_facts(chip);
    const Arch arch = native_arch(facts);
    EXPECT_EQ(arch.name(), chip);
    // Two tables, one truth.
    const std::optional<ArchLimits> limits = arch_limits(arch);
    ASSERT_TRUE(limits.has_value()) << chip;
    EXPECT_EQ(facts.launch.max_shared_per_block, limits->shared_per_block_bytes) << chip;
    EXPECT_EQ(facts.launch.max_shared_per_multiprocessor, limits->shared_bytes) << chip;
  }
}

struct Identity {
  std::size_t operator()(int value) const { return static_cast<std::size_t>(value); }
};

TEST(OnceMap, WaitersShareTheResultAndTheError) {
  OnceMap<int, int, const int, Identity, std::equal_to<>> map;
  std::atomic<int> made{0};
  std::atomic<int> failed{0};
  const auto run = [&](int key, bool throws) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        try {
          const auto value = map.get(key, [&] {
            ++made;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (throws) throw Error(ErrorCode::compile, "no");
            return std::make_shared<const int>(key * 2);
          });
          EXPECT_EQ(*value, key * 2);
        } catch (const Error& error) {
          EXPECT_EQ(error.message(), "no");
          ++failed;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  run(21, false);
  EXPECT_EQ(made, 1);
  ASSERT_NE(map.find(21), nullptr);
  run(5, true);
  EXPECT_EQ(failed, 8);
  EXPECT_EQ(map.find(5), nullptr);
  run(5, false);  // tried again
  EXPECT_EQ(*map.find(5), 10);
  EXPECT_THROW(map.get(6, []() -> std::shared_ptr<const int> { throw std::bad_alloc(); }), Error);
}

}  // namespace
}  // namespace gpuforge::jit
