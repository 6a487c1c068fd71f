#include "gpuforge/device/host_virtual_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/device/mapped_blocks.h"

namespace gpuforge::device {
namespace {

constexpr std::size_t kGranularity = std::size_t{64} << 10;  // a multiple of every page size Linux has

// Blocks take ever new places of the sparse file; a freed place is a hole, which costs nothing.
class MemoryFile {
 public:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  off_t take(std::size_t bytes) { return end_.fetch_add(static_cast<off_t>(bytes)); }
  void punch(off_t offset, std::size_t bytes) noexcept {
    static_cast<void>(::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                                  static_cast<off_t>(bytes)));
  }

 private:
  const int descriptor_;
  std::atomic<off_t> end_ = 0;
};

class HostPhysicalBlock final : public PhysicalBlock {
 public:
  HostPhysicalBlock(std::shared_ptr<HostMemory> memory, std::shared_ptr<MemoryFile> file, std::size_t bytes)
      : memory_(std::move(memory)), file_(std::move(file)), offset_(file_->take(bytes)), bytes_(bytes) {}
  ~HostPhysicalBlock() override {
    file_->punch(offset_, bytes_);
    memory_->give_back(bytes_);
  }
  std::size_t bytes() const override { return bytes_; }
  const HostMemory& memory() const { return *memory_; }
  int descriptor() const { return file_->descriptor(); }
  off_t offset() const { return offset_; }
  bool exchange_used() { return used_.exchange(true); }

 private:
  const std::shared_ptr<HostMemory> memory_;
  const std::shared_ptr<MemoryFile> file_;
  const off_t offset_;
  const std::size_t bytes_;
  std::atomic<bool> used_ = false;
};

// Addresses without memory behind them; MAP_FAILED when there are none.
void* map_nothing(void* at, std::size_t bytes) {
  return ::mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1,
                0);
}

class HostAddressRange final : public AddressRange {
 public:
  HostAddressRange(std::shared_ptr<HostMemory> memory, std::byte* begin, std::size_t bytes)
      : memory_(std::move(memory)), begin_(begin), bytes_(bytes) {}
  ~HostAddressRange() override {
    for (const auto& [offset, block] : mapped_.all()) memory_->unmapped(address() + offset);
    ::munmap(begin_, bytes_);
  }

  std::uint64_t address() const override { return reinterpret_cast<std::uint64_t>(begin_); }
  std::size_t bytes() const override { return bytes_; }

  void map(std::size_t offset, std::span<const std::shared_ptr<PhysicalBlock>> blocks) override {
    const std::lock_guard lock(mutex_);
    mapped_.check_map(offset, blocks, bytes_, kGranularity, memory_->device_name());
    std::size_t at = offset;
    try {
      for (const auto& block : blocks) {
        map_one(at, block);
        at += block->bytes();
      }
    } catch (...) {
      unmap_locked(offset, at - offset);
      throw;
    }
  }

  void unmap(std::size_t offset, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    unmap_locked(offset, bytes);
  }

 private:
  void map_one(std::size_t offset, const std::shared_ptr<PhysicalBlock>& block) {
    auto* const own = dynamic_cast<HostPhysicalBlock*>(block.get());
    GPUFORGE_CHECK(own != nullptr && &own->memory() == memory_.get(),
                   "{}: virtual memory: map got a block of another device", memory_->device_name());
    const void* const mapped = ::mmap(begin_ + offset, own->bytes(), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_FIXED, own->descriptor(), own->offset());
    if (mapped == MAP_FAILED) {
      throw Error(ErrorCode::out_of_memory,
                  format_text("{}: virtual memory: a block of {} bytes cannot be mapped: {}",
                              memory_->device_name(), own->bytes(), std::strerror(errno)));
    }
    mapped_.add(offset, block);
    memory_->mapped(address() + offset, own->bytes(), own->exchange_used());
  }

  void unmap_locked(std::size_t offset, std::size_t bytes) {
    std::size_t at = offset;
    for (const auto& block : mapped_.take(offset, bytes, memory_->device_name())) {
      memory_->unmapped(address() + at);
      // Should the system refuse, the old pages stay readable there, and nobody is told that they are free.
      static_cast<void>(map_nothing(begin_ + at, block->bytes()));
      at += block->bytes();
    }
  }

  const std::shared_ptr<HostMemory> memory_;
  std::byte* const begin_;
  const std::size_t bytes_;
  std::mutex mutex_;
  MappedBlocks mapped_;
};

class HostVirtualMemory final : public VirtualMemory {
 public:
  HostVirtualMemory(std::shared_ptr<HostMemory> memory, std::shared_ptr<MemoryFile> file)
      : memory_(std::move(memory)), file_(std::move(file)) {}

  std::size_t granularity() const override { return kGranularity; }

  std::unique_ptr<AddressRange> reserve(std::size_t bytes, std::size_t alignment) override {
    const std::string& device = memory_->device_name();
    GPUFORGE_CHECK(bytes > 0, "{}: virtual memory: a range of addresses needs a size", device);
    check_multiple(bytes, kGranularity, "a range", device);
    check_multiple(alignment, kGranularity, "an alignment", device);
    const std::size_t margin = std::max(alignment, kGranularity);
    void* const begin = bytes > std::numeric_limits<std::size_t>::max() - margin
                            ? MAP_FAILED
                            : map_nothing(nullptr, bytes + margin);
    if (begin == MAP_FAILED) {
      throw Error(
          ErrorCode::out_of_memory,
          format_text("{}: virtual memory: a range of {} bytes wanted, and no such addresses are free",
                      device, bytes));
    }
    auto* const first = static_cast<std::byte*>(begin);
    const std::size_t past = reinterpret_cast<std::uintptr_t>(first) % margin;
    const std::size_t skipped = past == 0 ? 0 : margin - past;
    if (skipped > 0) ::munmap(first, skipped);
    if (margin > skipped) ::munmap(first + skipped + bytes, margin - skipped);
    return std::make_unique<HostAddressRange>(memory_, first + skipped, bytes);
  }

  std::shared_ptr<PhysicalBlock> make_block(std::size_t bytes) override {
    GPUFORGE_CHECK(bytes > 0, "{}: virtual memory: a block needs a size", memory_->device_name());
    check_multiple(bytes, kGranularity, "a block", memory_->device_name());
    memory_->take(bytes, "a block of memory");
    try {
      return std::make_shared<HostPhysicalBlock>(memory_, file_, bytes);
    } catch (...) {
      memory_->give_back(bytes);
      throw;
    }
  }

 private:
  const std::shared_ptr<HostMemory> memory_;
  const std::shared_ptr<MemoryFile> file_;
};

}  // namespace

std::unique_ptr<VirtualMemory> make_host_virtual_memory(std::shared_ptr<HostMemory> memory) {
  const int descriptor = ::memfd_create("gpuforge", MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  auto file = std::make_shared<MemoryFile>(descriptor);
  // Sparse: as long as a file may be, and empty.
  for (int bits = 62; ::ftruncate(descriptor, off_t{1} << bits) != 0; --bits) {
    if (bits <= 40) return nullptr;
  }
  return std::make_unique<HostVirtualMemory>(std::move(memory), std::move(file));
}

}  // namespace gpuforge::device
