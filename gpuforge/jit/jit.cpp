#include "gpuforge/jit/jit.h"

#include <algorithm>
#include <atomic>
#include <charconv>

#include "gpuforge/base/error.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/jit/once_map.h"
#include "gpuforge/kernels/kernels.h"

namespace gpuforge::jit {
namespace {

// A compile shorter than this is nobody's news.
constexpr double kReportedCompileMs = 50;

// One key for every map here: a text's hash, the arch it is compiled for or the device it is loaded on, an
// entry.
struct LookupView {
  Hash128 source;
  Arch arch;
  const device::Device* device = nullptr;
  std::string_view entry;
};
struct LookupKey {
  explicit LookupKey(const LookupView& view)
      : source(view.source), arch(view.arch), device(view.device), entry(view.entry) {}
  operator LookupView() const { return {source, arch, device, entry}; }
  Hash128 source;
  Arch arch;
  const device::Device* device;  // kept alive by what was loaded on it
  std::string entry;
};
struct LookupHash {
  using is_transparent = void;
  std::size_t operator()(const LookupView& view) const {
    const auto arch =
        static_cast<std::size_t>(view.arch.number() * 512 + view.arch.suffix * 2 + view.arch.is_virtual);
    std::size_t hash = std::hash<Hash128>()(view.source) ^ std::hash<std::string_view>()(view.entry);
    hash ^= (std::hash<const void*>()(view.device) ^ arch) * 0x9e3779b97f4a7c15u;
    return hash;
  }
};
struct LookupEqual {
  using is_transparent = void;
  bool operator()(const LookupView& a, const LookupView& b) const {
    return a.source == b.source && a.device == b.device && a.entry == b.entry && a.arch == b.arch;
  }
};
template <typename Value>
using Lookup = OnceMap<LookupKey, LookupView, Value, LookupHash, LookupEqual>;

// Kernels of ours by what they are, for those who do not have their text at hand.
struct IdView {
  const KernelId& id;
  const device::Device* device;
};
struct IdKey {
  explicit IdKey(const IdView& view) : id(view.id), device(view.device) {}
  operator IdView() const { return {id, device}; }
  KernelId id;
  const device::Device* device;
};
struct IdHash {
  using is_transparent = void;
  std::size_t operator()(const IdView& view) const {
    return view.id.hash() ^ std::hash<const void*>()(view.device);
  }
};
struct IdEqual {
  using is_transparent = void;
  bool operator()(const IdView& a, const IdView& b) const { return a.device == b.device && a.id == b.id; }
};

// "13.0.88" -> 13000, as the driver counts.
int cuda_number(std::string_view version) {
  int major = 0;
  int minor = 0;
  const char* const end = version.data() + version.size();
  const auto [next, failed] = std::from_chars(version.data(), end, major);
  if (failed == std::errc() && next != end) std::from_chars(next + 1, end, minor);
  return major * 1000 + minor * 10;
}

std::shared_ptr<device::Module> load(const Compiled& compiled, device::Device& device) {
  if (auto* const simulator = dynamic_cast<device::SimDevice*>(&device)) {
    // It runs the PTX; of the machine code it wants to know what a GPU would need for it.
    std::vector<device::KernelRegisters> registers;
    for (const Entry& entry : compiled.entries) registers.push_back({entry.name, entry.registers});
    return simulator->load_module_with(std::as_bytes(std::span(compiled.ptx)), compiled.source_name,
                                       registers);
  }
  const std::string_view image = compiled.image();
  try {
    return device.load_module(std::as_bytes(std::span(image)), compiled.source_name);
  } catch (const Error& error) {
    const device::DeviceFacts& facts = device.facts();
    const int driver = facts.driver_version;
    const bool too_old = driver != 0 && cuda_number(compiled.compiler_version) > driver;
    if (error.code() == ErrorCode::out_of_memory || !too_old) throw;
    throw Error(
        ErrorCode::unavailable,
        format_text(
            "{}: the driver of {} is of CUDA {}.{} and does not load code made by NVRTC {}: update the "
            "driver, or use an NVRTC of CUDA {} (GPUFORGE_LIBRARY_PATH names its folder)",
            compiled.source_name, facts.name, driver / 1000, driver % 1000 / 10, compiled.compiler_version,
            driver / 1000),
        error.message());
  }
}

// PTX tells an entry's parameters; where there is none, the driver is asked for them one by one.
std::shared_ptr<device::Function> find_function(device::Module& module, const Compiled& compiled,
                                                const Entry& entry) {
  if (compiled.ptx.empty()) return module.function(entry.name);
  return module.function(entry.name, entry.parameters.size());
}

// The entry asked for, or the only one there is.
const Entry& choose_entry(const Compiled& compiled, std::string_view entry, std::string_view source_text) {
  if (compiled.entries.empty()) {
    const bool has_templates = source_text.find("__global__") != std::string_view::npos;
    throw Error(ErrorCode::invalid_argument,
                format_text("{}: there is no kernel to launch: {}", compiled.source_name,
                            has_templates
                                ? "its __global__ functions are templates, so name an instantiation such as "
                                  "f<float>, or are left out by #if"
                                : "the file has no __global__ function"));
  }
  if (!entry.empty()) return compiled.entry(entry);
  std::string list;
  for (const Entry& candidate : compiled.entries) list += (list.empty() ? "" : ", ") + candidate.expression;
  GPUFORGE_CHECK(compiled.entries.size() == 1, "{}: the file has several kernels, name one of: {}",
                 compiled.source_name, list);
  return compiled.entries.front();
}

}  // namespace

struct Jit::Memory {
  Lookup<const Compiled> compiled;
  Lookup<device::Module> modules;
  Lookup<const Kernel> kernels;
  OnceMap<IdKey, IdView, const Kernel, IdHash, IdEqual> kernels_by_id;  // those of `kernels`, found sooner
  std::atomic<std::uint64_t> memory_hits{0};
  std::atomic<std::uint64_t> disk_hits{0};
  std::atomic<std::uint64_t> compiles{0};
  std::atomic<bool> warned_about_arch{false};
  const std::shared_ptr<LaunchObserverSlot> observer = std::make_shared<LaunchObserverSlot>(nullptr);
};

Jit::Jit(JitOptions options, std::shared_ptr<Log> log)
    : search_(options.search),
      own_headers_{embedded_kernels(), options.kernel_dir, {}, {}},
      clang_headers_{embedded_kernels(), options.kernel_dir, {}, std::string(kClangHeaders)},
      choice_(options.compiler),
      compiler_(options.search, options.cache_dir),
      clang_(options.program_path, options.cache_dir),
      log_(log ? std::move(log) : std::make_shared<Log>()),
      memory_(std::make_unique<Memory>()) {
  if (options.cache_dir) disk_cache_.emplace(*options.cache_dir / "kernels", options.cache_limit_bytes, log_);
}

Jit::~Jit() = default;

void Jit::set_launch_observer(LaunchObserver* observer) {
  LaunchObserver* before = nullptr;
  if (observer == nullptr) {
    memory_->observer->store(nullptr, std::memory_order_release);
    return;
  }
  GPUFORGE_CHECK(memory_->observer->compare_exchange_strong(before, observer),
                 "jit: launches are observed already; one observer at a time");
}

const HeaderPaths& Jit::headers() const {
  std::call_once(toolkit_searched_, [&] {
    headers_ = own_headers_;
    headers_.toolkit = toolkit_include_dirs(search_);
  });
  return headers_;
}

Jit::Counters Jit::counters() const {
  return {memory_->memory_hits.load(), memory_->disk_hits.load(), memory_->compiles.load()};
}

KernelSource Jit::embedded_source(std::string_view path) const {
  std::optional<std::string> text = find_embedded(own_headers_, path);
  GPUFORGE_CHECK(
      text.has_value(), "jit: there is no kernel file '{}' {}", path,
      own_headers_.kernel_dir ? "in " + own_headers_.kernel_dir->string() : std::string("in this program"));
  KernelSource source;
  source.name = path;
  source.text = std::move(*text);
  return source;
}

bool Jit::choose_clang() {
  if (choice_ != CompilerChoice::automatic) return choice_ == CompilerChoice::clang;
  try {
    compiler_.supported_archs();
    return false;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable) throw;
    if (!clang_.program()) {
      throw Error(ErrorCode::unavailable,
                  format_text("{}; clang {} or newer would do for the simulator, and is not on PATH either",
                              error.message(), kOldestClang),
                  error.detail());
    }
  }
  log_->warning(
      "NVRTC is not available, so {} compiles kernels, to PTX alone; install NVRTC (the PyPI wheel "
      "nvidia-cuda-nvrtc) for machine code, or choose clang to be silent about it",
      clang_.version());
  return true;
}

bool Jit::compiles_with_clang() {
  const std::lock_guard guard(choosing_);
  if (!with_clang_) with_clang_ = choose_clang();
  return *with_clang_;
}

std::string Jit::compiler_version() {
  return compiles_with_clang() ? clang_.version() : compiler_.version();
}

Compiled Jit::compile_now(const TranslationUnit& unit, const Arch& arch) {
  Compiled compiled = compiles_with_clang() ? clang_.compile(unit, arch) : compiler_.compile(unit, arch);
  memory_->compiles.fetch_add(1, std::memory_order_relaxed);
  const LogLevel level = compiled.compile_ms >= kReportedCompileMs ? LogLevel::info : LogLevel::debug;
  if (log_->enabled(level)) {
    log_->write(level, format_text("compiled {} for {} in {:.0f} ms", compiled.source_name, arch.name(),
                                   compiled.compile_ms));
  }
  return compiled;
}

// `paths` becomes where its headers were looked for.
TranslationUnit Jit::resolve_unit(const KernelSource& source, const HeaderPaths*& paths) {
  if (compiles_with_clang()) {
    paths = &clang_headers_;  // the toolkit's are written for NVIDIA's compilers
    return resolve(with_clang_prelude(source), *paths);
  }
  // Most kernels need no header of the toolkit: it is searched only when something is missing without it.
  const bool plain = source.include_dirs.empty() && source.options.empty();
  paths = plain ? &own_headers_ : &headers();
  TranslationUnit unit = resolve(source, *paths);
  if (plain && (!unit.missing.empty() || unit.computed_include)) {
    paths = &headers();
    unit = resolve(source, *paths);
  }
  return unit;
}

Compiled Jit::find_or_compile(const KernelSource& source, const Arch& arch) {
  // Machine code has no second way: what is said is that NVRTC is missing.
  if (choice_ == CompilerChoice::automatic && !arch.is_virtual) compiler_.supported_archs();
  const HeaderPaths* paths = nullptr;
  const TranslationUnit unit = resolve_unit(source, paths);
  if (!disk_cache_ || unit.computed_include) {
    if (disk_cache_) {
      log_->debug(
          "{}: not kept in the disk cache, since the headers it reaches cannot be known before compiling",
          source.name);
    }
    return compile_now(unit, arch);
  }
  const std::string version = compiler_version();
  Hash128 key = cache_key(unit, arch, version);
  const auto find = [&]() -> std::optional<Compiled> {
    std::optional<Compiled> found = disk_cache_->find(key, source.name);
    if (!found) return std::nullopt;
    memory_->disk_hits.fetch_add(1, std::memory_order_relaxed);
    found->source_name = source.name;
    found->from_cache = true;
    log_->debug("{} for {} is from the disk cache", source.name, arch.name());
    return found;
  };
  if (auto found = find()) return std::move(*found);
  const std::shared_ptr<DiskCache::Lock> lock = disk_cache_->lock(key);
  if (auto found = find()) return std::move(*found);  // another process was faster

  Compiled compiled = compile_now(unit, arch);
  if (compiled.compiler_version != version) key = cache_key(unit, arch, compiled.compiler_version);
  compiled.key = key.hex();
  if (unchanged(unit, *paths)) disk_cache_->store(key, compiled, source.text);
  return compiled;
}

std::shared_ptr<const Compiled> Jit::compile_keyed(const Hash128& key, const KernelSource& source,
                                                   const Arch& arch) {
  const LookupView view{key, arch, nullptr, {}};
  if (auto found = memory_->compiled.find(view)) {
    memory_->memory_hits.fetch_add(1, std::memory_order_relaxed);
    return found;
  }
  return memory_->compiled.get(
      view, [&] { return std::make_shared<const Compiled>(find_or_compile(source, arch)); });
}

std::shared_ptr<const Compiled> Jit::compile(const KernelSource& source, const Arch& arch) {
  return compile_keyed(fingerprint(source), source, arch);
}

Arch Jit::arch_for(const device::DeviceFacts& facts) {
  Arch arch = native_arch(facts);
  const bool with_clang = compiles_with_clang();
  if (with_clang) arch.is_virtual = true;
  const std::vector<int> known = with_clang ? clang_.supported_archs() : compiler_.supported_archs();
  if (std::binary_search(known.begin(), known.end(), arch.number())) {
    // 'a' is newer than some compilers.
    const bool too_new = with_clang ? !clang_.knows(arch) : cuda_number(compiler_.version()) < 12000;
    if (too_new) arch.suffix = 0;
    return arch;
  }
  const auto above = std::upper_bound(known.begin(), known.end(), arch.number());
  if (above == known.begin()) return arch;  // the compiler says what is wrong
  const int newest = *std::prev(above);
  const Arch fallback{newest / 10, newest % 10, 0, true};
  if (!memory_->warned_about_arch.exchange(true)) {
    log_->warning(
        "{} does not know {} of {}: kernels are compiled to PTX for {}, without what is special to that "
        "chip; "
        "install a newer one",
        with_clang ? clang_.version() : "NVRTC " + compiler_.version(), arch.name(), facts.name,
        fallback.name());
  }
  return fallback;
}

std::shared_ptr<const Kernel> Jit::kernel_keyed(const Hash128& key, const KernelSource& source,
                                                std::string_view entry, device::Device& device) {
  const LookupView view{key, {}, &device, entry};
  if (auto found = memory_->kernels.find(view)) [[likely]] {
    memory_->memory_hits.fetch_add(1, std::memory_order_relaxed);
    return found;
  }
  return memory_->kernels.get(view, [&] {
    const auto compiled = compile_keyed(key, source, arch_for(device.facts()));
    const Entry& chosen = choose_entry(*compiled, entry, source.text);
    const auto module =
        memory_->modules.get({key, compiled->arch, &device, {}}, [&] { return load(*compiled, device); });
    return std::make_shared<const Kernel>(compiled, chosen, find_function(*module, *compiled, chosen),
                                          memory_->observer);
  });
}

std::shared_ptr<const Kernel> Jit::kernel(const KernelSource& source, std::string_view entry,
                                          device::Device& device) {
  return kernel_keyed(fingerprint(source), source, entry, device);
}

std::shared_ptr<const Kernel> Jit::kernel(const SourceHandle& source, std::string_view entry,
                                          device::Device& device) {
  return kernel_keyed(source.key(), source.source(), entry, device);
}

std::shared_ptr<const Kernel> Jit::embedded_kernel(std::string_view path, std::string_view expression,
                                                   device::Device& device) {
  const LookupView view{hash_text(path), {}, &device, expression};
  if (auto found = memory_->kernels.find(view)) [[likely]] {
    memory_->memory_hits.fetch_add(1, std::memory_order_relaxed);
    return found;
  }
  return memory_->kernels.get(view, [&] {
    KernelSource source = embedded_source(path);
    source.instantiations = {std::string(expression)};
    return kernel(source, expression, device);
  });
}

std::shared_ptr<const Kernel> Jit::embedded_kernel(const KernelId& id, device::Device& device) {
  const IdView view{id, &device};
  if (auto found = memory_->kernels_by_id.find(view)) [[likely]] {
    memory_->memory_hits.fetch_add(1, std::memory_order_relaxed);
    return found;
  }
  return memory_->kernels_by_id.get(view,
                                    [&] { return embedded_kernel(id.file(), id.expression(), device); });
}

std::shared_ptr<const Kernel> Jit::kernel_from_ptx(std::string_view ptx, std::string_view name,
                                                   std::string_view entry, device::Device& device) {
  const Hash128 key = Hasher().add("ptx").add(name).add(ptx).finish();
  const LookupView view{key, {}, &device, entry};
  if (auto found = memory_->kernels.find(view)) {
    memory_->memory_hits.fetch_add(1, std::memory_order_relaxed);
    return found;
  }
  return memory_->kernels.get(view, [&] {
    Compiled from_text;
    from_text.source_name = name;
    from_text.ptx = ptx;
    from_text.entries = entries_from_ptx(ptx, name);
    const auto compiled = std::make_shared<const Compiled>(std::move(from_text));
    const Entry& chosen = choose_entry(*compiled, entry, {});
    const auto module = memory_->modules.get({key, {}, &device, {}}, [&] { return load(*compiled, device); });
    return std::make_shared<const Kernel>(compiled, chosen, find_function(*module, *compiled, chosen),
                                          memory_->observer);
  });
}

Arch native_arch(const device::DeviceFacts& facts) {
  if (facts.compute_major == 0) {
    throw Error(ErrorCode::unsupported,
                format_text("jit: device {} does not run kernels; use a cuda device or sim", facts.name));
  }
  if (!facts.pretended_arch.empty()) return Arch::parse(facts.pretended_arch);
  Arch arch{facts.compute_major, facts.compute_minor, 0, false};
  if (facts.compute_major >= 9) arch.suffix = 'a';
  return arch;
}

}  // namespace gpuforge::jit
