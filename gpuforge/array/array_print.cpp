#include <numeric>

#include "gpuforge/array/array.h"
#include "gpuforge/array/number_text.h"

namespace gpuforge {
namespace {

constexpr std::int64_t kSummaryAbove = 1000;  // elements
constexpr std::int64_t kEdge = 3;             // shown at each end of a summarised axis
constexpr std::size_t kColumns = 75;
constexpr std::string_view kPrefix = "array(";
constexpr std::int64_t kMostShown = std::int64_t{1} << 24;

bool shortened(std::int64_t extent) {
  return extent > 2 * kEdge;
}

// The elements that are shown, in row-major order, without moving the others.
void fetch_corners(std::vector<std::byte>& out, const Array& array, device::Stream& stream) {
  bool whole = true;
  for (const std::int64_t extent : array.shape()) whole = whole && !shortened(extent);
  if (whole) {
    const std::size_t at = out.size();
    out.resize(at + array.bytes());
    array.to_host(std::span(out).subspan(at), stream);
  } else if (array.rank() == 1) {
    fetch_corners(out, array.slice(0, {0, kEdge, 1}), stream);
    fetch_corners(out, array.slice(0, {-kEdge, {}, 1}), stream);
  } else {
    const std::int64_t extent = array.shape()[0];
    for (std::int64_t i = 0; i < extent; ++i) {
      if (shortened(extent) && i == kEdge) i = extent - kEdge;
      fetch_corners(out, array.index(0, i), stream);
    }
  }
}

class Page {
 public:
  Page(const Shape& shape, bool summarised, const NumberText& numbers)
      : shape_(shape), summarised_(summarised), numbers_(numbers) {}

  // One array of `shape_[axis..]`, its first line beginning behind `indent` columns that are already there.
  std::string body(std::size_t axis, std::size_t indent, std::size_t columns) {
    if (axis == shape_.size()) return numbers_(next_++);
    return "[" + (axis + 1 == shape_.size() ? row(indent, columns) : rows(axis, indent, columns)) + "]";
  }

 private:
  bool gap_at(std::size_t axis, std::int64_t i) const {
    return summarised_ && shortened(shape_[axis]) && i == kEdge;
  }

  std::string row(std::size_t indent, std::size_t columns) {
    const std::size_t axis = shape_.size() - 1;
    const std::int64_t extent = shape_[axis];
    const std::size_t room = columns - 1;  // the comma or bracket that follows a number
    std::string text;
    std::size_t column = indent;
    const auto add = [&](const std::string& word) {
      if (column > indent && column + word.size() > room) {
        text.pop_back();  // the space after the last comma
        text += "\n" + std::string(indent, ' ');
        column = indent;
      }
      text += word;
      column += word.size();
    };
    for (std::int64_t i = 0; i < extent; ++i) {
      if (gap_at(axis, i)) {
        add("...");
        text += ", ";
        column += 2;
        i = extent - kEdge;
      }
      add(numbers_(next_++));
      if (i + 1 < extent) {
        text += ", ";
        column += 2;
      }
    }
    return text;
  }

  std::string rows(std::size_t axis, std::size_t indent, std::size_t columns) {
    const std::int64_t extent = shape_[axis];
    const std::string between = "," + std::string(shape_.size() - axis - 1, '\n') + std::string(indent, ' ');
    std::string text;
    for (std::int64_t i = 0; i < extent; ++i) {
      if (gap_at(axis, i)) {
        text += "..." + between;
        i = extent - kEdge;
      }
      text += body(axis + 1, indent + 1, columns - 1);
      if (i + 1 < extent) text += between;
    }
    return text;
  }

  const Shape& shape_;
  bool summarised_;
  const NumberText& numbers_;
  std::size_t next_ = 0;
};

std::string tuple_text(const Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string elements_text(const Array& array, bool summarised, device::Stream& stream) {
  if (array.size() == 0) return "[]";
  std::vector<std::byte> shown;
  if (summarised) {
    double count = 1;
    for (const std::int64_t extent : array.shape()) count *= static_cast<double>(std::min(extent, 2 * kEdge));
    GPUFORGE_CHECK(count <= static_cast<double>(kMostShown),
                   "to_string: an array of shape {} shows {} elements even when summarised; slice it first",
                   to_string(array.shape()), count);
    fetch_corners(shown, array, stream);
  } else {
    shown.resize(array.bytes());
    array.to_host(shown, stream);
  }
  const NumberText numbers(shown, array.dtype(), array.rank() == 0);
  return Page(array.shape(), summarised, numbers).body(0, kPrefix.size() + 1, kColumns - 1);
}

}  // namespace

std::string to_string(const Array& array, device::Stream& stream) {
  const bool summarised = array.size() > kSummaryAbove;
  std::string text = std::string(kPrefix) + elements_text(array, summarised, stream) + ",";
  std::string facts;
  if (summarised || (array.size() == 0 && array.shape() != Shape{0})) {
    facts = "shape=" + tuple_text(array.shape()) + ", ";
  }
  facts += format_text("dtype={}, device={})", name(array.dtype()), array.device().facts().name);
  const std::size_t newline = text.rfind('\n');
  const std::size_t last_line = newline == std::string::npos ? text.size() : text.size() - newline - 1;
  const bool fits = last_line + facts.size() + 1 <= kColumns;
  return text + (fits ? " " : "\n" + std::string(kPrefix.size(), ' ')) + facts;
}

}  // namespace gpuforge
