// Room jit: from source text to something launchable, in stages that are values:
//   KernelSource -> TranslationUnit (headers found) -> key -> Compiled (memory, disk, or a compiler) ->
//   Kernel (loaded). The compiler is NVRTC, or clang where only PTX is needed.
// Jit holds the caches and runs the stages. Compiling sees no data and never launches.
// Not here: what the kernels compute (ops/, array/), arrays as arguments (array/).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "gpuforge/base/log.h"
#include "gpuforge/jit/clang_compiler.h"
#include "gpuforge/jit/compiler.h"
#include "gpuforge/jit/disk_cache.h"
#include "gpuforge/jit/kernel.h"
#include "gpuforge/jit/kernel_id.h"
#include "gpuforge/jit/source.h"

namespace gpuforge::jit {

// Who compiles .cu text. automatic: NVRTC, and where there is none clang, with one warning in the log.
enum class CompilerChoice { automatic, nvrtc, clang };

struct JitOptions {
  cuda::SearchOptions search;
  std::optional<std::filesystem::path> cache_dir;  // kernels/, nvrtc.json, clang.json; nothing: no disk cache
  std::uintmax_t cache_limit_bytes = std::uintmax_t{1} << 30;
  std::optional<std::filesystem::path> kernel_dir;  // read our kernels and headers from this tree
  CompilerChoice compiler = CompilerChoice::automatic;
  std::optional<std::string> program_path;  // PATH, to find clang
};

// A source whose fingerprint was taken once. Hot paths keep one, so that finding their kernel hashes no text.
class SourceHandle {
 public:
  explicit SourceHandle(KernelSource source) : source_(std::move(source)), key_(fingerprint(source_)) {}
  const KernelSource& source() const { return source_; }
  const Hash128& key() const { return key_; }

 private:
  KernelSource source_;
  Hash128 key_;
};

// Thread-safe. A source asked for twice is compiled once; edits of headers are seen by the next process.
class Jit {
 public:
  Jit(JitOptions options, std::shared_ptr<Log> log);
  ~Jit();

  std::shared_ptr<const Compiled> compile(const KernelSource& source, const Arch& arch);
  // Compiled for the device's own arch and loaded; `entry` by name or expression, or empty when there is only
  // one. An arch newer than the compiler knows: PTX of the newest it has, with one warning in the log.
  std::shared_ptr<const Kernel> kernel(const KernelSource& source, std::string_view entry,
                                       device::Device& device);
  std::shared_ptr<const Kernel> kernel(const SourceHandle& source, std::string_view entry,
                                       device::Device& device);
  // One instantiation of a kernel file of ours, found by path and expression; the file is hashed once.
  std::shared_ptr<const Kernel> embedded_kernel(std::string_view path, std::string_view expression,
                                                device::Device& device);
  // The same kernel. For hot paths: once it was found, no text is written or read to find it again.
  std::shared_ptr<const Kernel> embedded_kernel(const KernelId& id, device::Device& device);
  // A PTX file's text, loaded as it is (the driver compiles it).
  std::shared_ptr<const Kernel> kernel_from_ptx(std::string_view ptx, std::string_view name,
                                                std::string_view entry, device::Device& device);

  // A kernel file of ours by its path in the repository, embedded or from kernel_dir; invalid_argument if
  // none.
  KernelSource embedded_source(std::string_view path) const;
  // Where headers are looked for. Finding the toolkit's folders takes a millisecond, so it waits for the
  // first need.
  const HeaderPaths& headers() const;
  Compiler& compiler() { return compiler_; }
  // Chosen at the first need. unavailable Error when there is no compiler at all.
  bool compiles_with_clang();
  DiskCache* disk_cache() { return disk_cache_ ? &*disk_cache_ : nullptr; }
  struct Counters {
    std::uint64_t memory_hits = 0;
    std::uint64_t disk_hits = 0;
    std::uint64_t compiles = 0;
  };
  Counters counters() const;
  // From now on told of every launch of a kernel of this Jit; nullptr: nobody is. One that is in place stays
  // until it is taken out: an invalid_argument. It must outlive the launches that are under way when it is.
  void set_launch_observer(LaunchObserver* observer);

 private:
  struct Memory;
  std::shared_ptr<const Compiled> compile_keyed(const Hash128& key, const KernelSource& source,
                                                const Arch& arch);
  std::shared_ptr<const Kernel> kernel_keyed(const Hash128& key, const KernelSource& source,
                                             std::string_view entry, device::Device& device);
  Compiled find_or_compile(const KernelSource& source, const Arch& arch);
  Compiled compile_now(const TranslationUnit& unit, const Arch& arch);
  TranslationUnit resolve_unit(const KernelSource& source, const HeaderPaths*& paths);
  bool choose_clang();
  std::string compiler_version();
  Arch arch_for(const device::DeviceFacts& facts);
  cuda::SearchOptions search_;
  HeaderPaths own_headers_;    // without the toolkit's
  HeaderPaths clang_headers_;  // and with what stands for some of them
  mutable std::once_flag toolkit_searched_;
  mutable HeaderPaths headers_;
  CompilerChoice choice_;
  std::mutex choosing_;
  std::optional<bool> with_clang_;  // once chosen
  Compiler compiler_;
  ClangCompiler clang_;
  std::optional<DiskCache> disk_cache_;
  std::shared_ptr<Log> log_;
  std::unique_ptr<Memory> memory_;
};

// The arch a device's kernels are compiled for: "sm_90a" for compute capability 9.0 (the 'a' from 9.0 on).
// The simulator that plays sm_86 has sm_86: it runs the PTX, and the machine code tells what a GPU would
// need.
Arch native_arch(const device::DeviceFacts& facts);

// CUDA's and CCCL's include folders found on this machine, in search order (doctor lists them too).
std::vector<std::filesystem::path> toolkit_include_dirs(const cuda::SearchOptions& search);

}  // namespace gpuforge::jit
