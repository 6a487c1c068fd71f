#include "gpuforge/sim/marks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

std::size_t index_of(std::uint32_t offset) {
  return offset / 128;
}

MarkDetail& detail_of(Frame& frame) {
  if (frame.mark_detail == nullptr) frame.mark_detail = std::make_unique<MarkDetail>(*frame.code);
  return *frame.mark_detail;
}

// One lane of a row as bytes whose bits say what was never written. Of 128 bits only the mark is kept.
struct RowBytes {
  std::uint8_t byte[16] = {};
};
RowBytes unwritten_bytes(const Frame& frame, const Passed& row, int lane) {
  RowBytes result;
  const std::uint64_t bits = unwritten_bits(frame, row.offset, lane, row.bytes == 8, 64);
  std::memcpy(result.byte, &bits, 8);
  if (row.bytes == 16) std::memcpy(result.byte + 8, &bits, 8);
  return result;
}
void set_unwritten_bytes(Frame& frame, const Passed& row, int lane, const std::uint8_t* unwritten,
                         std::size_t bytes) {
  std::uint64_t bits[2] = {};
  std::memcpy(bits, unwritten, std::min<std::size_t>(bytes, row.bytes));
  if (row.bytes == 16 ? (bits[0] & bits[1]) != ~std::uint64_t{0} : bits[0] == 0) return;
  marks_of(frame, row.offset) |= Mask{1} << lane;
  if (row.bytes != 16) set_detail(frame, row.offset, lane, row.bytes == 8, bits[0], {});
}

}  // namespace

MarkDetail::MarkDetail(const Code& code) : rows(index_of(code.masks_begin)), written(code.masks_begin) {}

void forget_details(Frame& frame) {
  std::fill(frame.mark_detail->rows.begin(), frame.mark_detail->rows.end(), MarkDetail::Lanes());
}

void forget_details(Frame& frame, std::uint32_t offset, Mask lanes) {
  if (frame.mark_detail == nullptr || offset >= frame.code->masks_begin) return;
  MarkDetail::Lanes& row = frame.mark_detail->rows[index_of(offset)];
  row.partial &= ~lanes;
  row.computed &= ~lanes;
  row.beside &= ~lanes;
}

std::uint64_t unwritten_bits(const Frame& frame, std::uint32_t offset, int lane, bool wide, unsigned bits) {
  if ((marks_of(frame, offset) >> lane & 1) == 0) return 0;
  const MarkDetail* const detail = frame.mark_detail.get();
  if (detail == nullptr || (detail->rows[index_of(offset)].partial >> lane & 1) == 0) return low_bits(bits);
  std::uint64_t written = 0;
  const std::size_t bytes = wide ? 8 : 4;
  std::memcpy(&written, detail->written.data() + offset + static_cast<std::size_t>(lane) * bytes, bytes);
  return ~written & low_bits(bits);
}

Origin origin_of(const Frame& frame, std::uint32_t offset, int lane) {
  if (frame.mark_detail == nullptr) return {};
  const MarkDetail::Lanes& row = frame.mark_detail->rows[index_of(offset)];
  return {(row.computed >> lane & 1) != 0, (row.beside >> lane & 1) != 0};
}

void set_detail(Frame& frame, std::uint32_t offset, int lane, bool wide, std::uint64_t unwritten,
                Origin origin) {
  const std::size_t bytes = wide ? 8 : 4;
  const bool partial = (~unwritten & low_bits(bytes * 8)) != 0;
  if (frame.mark_detail == nullptr && !partial && !origin.computed && !origin.beside) return;
  MarkDetail& detail = detail_of(frame);
  MarkDetail::Lanes& row = detail.rows[index_of(offset)];
  const Mask bit = Mask{1} << lane;
  row.partial = (row.partial & ~bit) | (partial ? bit : 0);
  row.computed = (row.computed & ~bit) | (origin.computed ? bit : 0);
  row.beside = (row.beside & ~bit) | (origin.beside ? bit : 0);
  const std::uint64_t written = ~unwritten;
  if (partial)
    std::memcpy(detail.written.data() + offset + static_cast<std::size_t>(lane) * bytes, &written, bytes);
}

void hand_over_marks(const Frame& from, const std::vector<Passed>& given, Frame& to,
                     const std::vector<Passed>& taken, Mask lanes) {
  for (std::size_t i = 0; i < std::min(given.size(), taken.size()); ++i) {
    const Passed& source = given[i];
    const Passed& target = taken[i];
    if (source.in_row && source.bytes == 0) {  // a predicate
      Mask& marks = marks_of(to, target.offset);
      marks = (marks & ~lanes) | (marks_of(from, source.offset) & lanes);
      continue;
    }
    const bool any =
        source.in_row ? (marks_of(from, source.offset) & lanes) != 0 : !from.params_unwritten.empty();
    if (target.in_row) {
      marks_of(to, target.offset) &= ~lanes;
      forget_details(to, target.offset, lanes);
    }
    if (!any && (target.in_row || to.params_unwritten.empty())) continue;
    if (!target.in_row) to.params_unwritten.resize(to.params.size());
    const std::size_t bytes = std::min(source.bytes, target.bytes);
    for (Mask left = lanes; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const auto place = static_cast<std::size_t>(lane);
      const RowBytes in_row = source.in_row ? unwritten_bytes(from, source, lane) : RowBytes();
      const std::uint8_t* const unwritten =
          source.in_row ? in_row.byte
          : any         ? from.params_unwritten.data() + place * from.code->param_bytes + source.offset
                        : nullptr;
      if (target.in_row) {
        set_unwritten_bytes(to, target, lane, unwritten, bytes);
        continue;
      }
      std::uint8_t* const at = to.params_unwritten.data() + place * to.code->param_bytes + target.offset;
      if (unwritten != nullptr)
        std::memcpy(at, unwritten, bytes);
      else
        std::memset(at, 0, bytes);
    }
  }
}

}  // namespace gpuforge::sim
