#include "gpuforge/sim/race_cells.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace gpuforge::sim {

namespace {

constexpr std::size_t kLargePage = std::size_t{1} << 21;
constexpr std::size_t kWidest = 32;  // bytes of the widest access

bool empty(const GlobalCells& group) {
  std::uint64_t any = 0;
  for (int i = 0; i < 4; ++i) any |= group.write_key[i] | group.read_key[i];
  return any == 0;
}

}  // namespace

ZeroedMemory::ZeroedMemory(std::size_t bytes) {
  const bool large = bytes >= kLargePage / 2;
  if (large) bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  mapped_bytes_ = bytes + (large ? kLargePage : 0);
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    throw std::bad_alloc();
  }
  data_ = mapped_;
  if (!large) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped_);
  data_ = reinterpret_cast<void*>((begin + kLargePage - 1) / kLargePage * kLargePage);
  madvise(data_, bytes, MADV_HUGEPAGE);  // a wish
}
ZeroedMemory::ZeroedMemory(ZeroedMemory&& other) noexcept {
  *this = std::move(other);
}
ZeroedMemory& ZeroedMemory::operator=(ZeroedMemory&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_, other.data_);
  return *this;
}
ZeroedMemory::~ZeroedMemory() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
}

RacePage::RacePage(std::size_t of_bytes) : bytes(of_bytes), cells(count() / 4) {}

void RacePage::split(int new_shift) {
  const std::size_t old_count = count(), factor = std::size_t{1} << (shift - new_shift);
  ZeroedArray<GlobalCells> finer(old_count * factor / 4);
  for (std::size_t i = 0; i < old_count; ++i) {
    const GlobalCells& from = cells[i / 4];
    if (empty(from)) continue;
    for (std::size_t part = 0; part < factor; ++part) {
      const std::size_t a = i % 4, b = (i * factor + part) % 4;
      GlobalCells& to = finer[(i * factor + part) / 4];
      to.write_key[b] = from.write_key[a];
      to.write_who[b] = from.write_who[a];
      to.read_key[b] = from.read_key[a];
      to.read_lanes[b] = from.read_lanes[a];
      to.read_who[b] = from.read_who[a];
    }
  }
  cells = std::move(finer);
  for (auto& one : strong) {
    if (one.empty()) continue;
    ZeroedArray<StrongCell> more(old_count * factor);
    for (std::size_t i = 0; i < old_count; ++i)
      for (std::size_t part = 0; part < factor && one[i].key != 0; ++part) more[i * factor + part] = one[i];
    one = std::move(more);
  }
  shift = new_shift;
}

StrongCell* RacePage::strong_cells(StrongKind kind) {
  auto& one = strong[static_cast<std::size_t>(kind)];
  if (one.empty()) one = ZeroedArray<StrongCell>(count());
  return one.get();
}

RaceCells::RaceCells(std::uint64_t begin, std::size_t size)
    : base(begin / kWidest * kWidest),
      bytes((begin + size - base + kWidest - 1) / kWidest * kWidest),
      pages((bytes + kRacePageBytes - 1) >> kRacePageShift) {}

RacePage& RaceCells::make(std::uint64_t index) {
  pages[index] = std::make_unique<RacePage>(std::min(kRacePageBytes, bytes - index * kRacePageBytes));
  return *pages[index];
}

}  // namespace gpuforge::sim
