#include "gpuforge/sim/race_cells.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace gpuforge::sim {

namespace {

constexpr std::size_t kLargePage = std::size_t{1} << 21;
constexpr std::size_t kWidest = 32;  // bytes of the widest access

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

void RacePage::make_cells() {
  if (!reads.empty()) return;
  reads = ZeroedArray<ReadCells>(count() / 4);
  writes = ZeroedArray<WriteCells>(count() / 4);
}

void RacePage::split(int new_shift) {
  const std::size_t old_count = count(), factor = std::size_t{1} << (shift - new_shift);
  if (!reads.empty()) {
    ZeroedArray<ReadCells> finer_reads(old_count * factor / 4);
    ZeroedArray<WriteCells> finer_writes(old_count * factor / 4);
    for (std::size_t i = 0; i < old_count; ++i) {
      const std::size_t a = i % 4;
      const ReadCells& read = reads[i / 4];
      const WriteCells& write = writes[i / 4];
      for (std::size_t cell = i * factor; cell < (i + 1) * factor; ++cell) {
        const std::size_t b = cell % 4;
        if (read.key[a] != 0) {
          ReadCells& to = finer_reads[cell / 4];
          to.key[b] = read.key[a];
          to.lanes[b] = read.lanes[a];
          to.who[b] = read.who[a];
        }
        if (write.key[a] != 0) {
          WriteCells& to = finer_writes[cell / 4];
          to.key[b] = write.key[a];
          to.who[b] = write.who[a];
        }
      }
    }
    reads = std::move(finer_reads);
    writes = std::move(finer_writes);
  }
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
      lines((bytes >> kLineShift) + 1),
      pages((bytes + kRacePageBytes - 1) >> kRacePageShift) {
  for (std::size_t i = 0; i < pages.size(); ++i)
    pages[i].bytes = std::min(kRacePageBytes, bytes - i * kRacePageBytes);
}

LineCell* RaceCells::side(std::size_t line, const LinePiece& piece, std::uint64_t base_key) {
  LineCell& first = lines[line];
  const bool fresh = first.old(base_key) && (first.split == 0 || sides[line].old(base_key));
  if (fresh) {
    if (piece.begin != 0 && piece.end != kLineBytes) return nullptr;
    first.split = static_cast<std::uint8_t>(piece.whole() ? 0 : piece.begin == 0 ? piece.end : piece.begin);
    if (first.split != 0 && sides.empty()) sides = ZeroedArray<LineCell>((bytes >> kLineShift) + 1);
  }
  if (piece.begin == 0 && piece.end == (first.split != 0 ? first.split : kLineBytes)) return &first;
  if (first.split != 0 && piece.begin == first.split && piece.end == kLineBytes) return &sides[line];
  return nullptr;
}

int RaceCells::finest(std::size_t line, std::uint64_t base_key) const {
  int log = kLineShift;
  const auto look = [&](const LineCell& record) {
    if (record.write_key >= base_key) log = std::min(log, record.write_shape >> 5);
    if (record.read_key >= base_key && kept(record.read_who) == Kept::one_warp)
      log = std::min(log, static_cast<int>(record.read_lanes >> 5));
  };
  look(lines[line]);
  if (lines[line].split != 0) look(sides[line]);
  return log;
}

void RaceCells::spread(std::size_t line, RacePage& page, std::uint64_t base_key) {
  const std::size_t start = ((line << kLineShift) & (kRacePageBytes - 1)) >> page.shift;
  const auto copy = [&](const LineCell& record, std::uint32_t from, std::uint32_t to) {
    const bool wrote = record.write_key >= base_key, read = record.read_key >= base_key;
    if (wrote)
      page.write_block = std::max(page.write_block, static_cast<std::uint32_t>(record.write_key >> 32));
    if (read) page.read_block = std::max(page.read_block, static_cast<std::uint32_t>(record.read_key >> 32));
    const std::uint32_t step = 1u << page.shift;
    for (std::uint32_t at = from; (wrote || read) && at < to; at += step) {
      const std::size_t cell = start + (at >> page.shift);
      if (wrote) {
        WriteCells& into = page.writes[cell / 4];
        into.key[cell % 4] = record.write_key;
        into.who[cell % 4] = record.write_who + (((at - from) >> (record.write_shape >> 5)) << kWhoShift);
      }
      if (read) {
        const bool one = kept(record.read_who) == Kept::one_warp;
        ReadCells& into = page.reads[cell / 4];
        into.key[cell % 4] = record.read_key;
        into.lanes[cell % 4] =
            one ? 1u << ((record.read_lanes & 31u) + ((at - from) >> (record.read_lanes >> 5)))
                : record.read_lanes;
        into.who[cell % 4] = record.read_who;
      }
    }
  };
  LineCell& first = lines[line];
  copy(first, 0, first.split != 0 ? first.split : kLineBytes);
  if (first.split != 0) copy(sides[line], first.split, kLineBytes);
  first.mark(base_key);
}

}  // namespace gpuforge::sim
