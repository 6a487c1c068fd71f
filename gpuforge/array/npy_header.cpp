#include "gpuforge/array/npy_header.h"

#include <cctype>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"

namespace gpuforge {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

// Text from a hostile file as a message may carry it: printable and short.
std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 60)) result += c >= 0x20 && c < 0x7f ? c : '?';
  return text.size() > 60 ? result + "..." : result;
}

// Reads the dictionary left to right, once, and stops at the first thing that does not belong.
class Scanner {
 public:
  Scanner(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  NpyHeader dictionary() {
    NpyHeader header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      bool* const seen = key == "descr"           ? &has_descr
                         : key == "fortran_order" ? &has_order
                         : key == "shape"         ? &has_shape
                                                  : nullptr;
      if (seen == nullptr) fail("one of the keys descr, fortran_order and shape", "'" + shown(key) + "'");
      if (*seen) fail("each key once", "'" + key + "' again");
      *seen = true;
      if (seen == &has_descr) {
        descr(header);
      } else if (seen == &has_order) {
        header.fortran_order = boolean();
      } else {
        header.shape = tuple();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail("nothing after the dictionary", rest());
    if (!has_descr || !has_order || !has_shape)
      fail("the keys descr, fortran_order and shape", "only some of them");
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    throw Error(ErrorCode::parse,
                format_text("npy: the header of {} should have {}, found {}", what_, expected, found));
  }

  std::string rest() const {
    return at_ == text_.size() ? "its end" : "\"" + shown(text_.substr(at_)) + "\"";
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "'", rest());
  }

  std::string quoted() {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("a quoted text", rest());
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail("a closing quote", rest());
    const std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }

  void descr(NpyHeader& header) {
    skip_space();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
      // Kept as text for the message; nobody reads further than this.
      header.structured = true;
      header.descr = bracketed();
    } else {
      header.descr = quoted();
    }
  }

  std::string bracketed() {
    const std::size_t begin = at_;
    std::size_t depth = 0;
    do {
      skip_space();
      if (at_ == text_.size()) fail("a closing bracket", rest());
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        quoted();
        continue;
      }
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      ++at_;
    } while (depth > 0);
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool boolean() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail("True or False for fortran_order", rest());
  }

  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      if (shape.size() == kMaxRank) fail(format_text("at most {} dimensions", kMaxRank), "more");
      shape.push_back(extent());
      if (!accept(',')) {
        // A single number needs its comma: (3) is not a tuple.
        if (shape.size() == 1) fail("a comma after the only dimension", rest());
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::int64_t extent() {
    skip_space();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        at_ = begin;
        fail("dimensions below 2^63", rest());
      }
      ++at_;
    }
    if (at_ == begin) fail("whole numbers as dimensions", rest());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
    return value;
  }

  std::string_view text_;
  std::string_view what_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> bytes, std::string_view what) {
  const std::string_view text = as_text(bytes);
  if (!text.starts_with(kMagic)) {
    throw Error(ErrorCode::parse,
                format_text("npy: {} should begin with the six bytes of NumPy's mark, and does not", what));
  }
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(bytes[at]); };
  const auto truncated = [&](std::size_t expected) {
    return Error(ErrorCode::parse,
                 format_text("npy: the header of {} is cut off: expected {} bytes, found {}", what, expected,
                             bytes.size()));
  };
  if (bytes.size() < 8) throw truncated(10);
  const std::size_t major = byte(6);
  if (major < 1 || major > 3 || byte(7) != 0) {
    throw Error(ErrorCode::parse, format_text("npy: {} is of version {}.{}, and 1.0, 2.0 and 3.0 are known",
                                              what, major, byte(7)));
  }
  const std::size_t begin = major == 1 ? 10 : 12;
  if (bytes.size() < begin) throw truncated(begin);
  std::size_t length = 0;
  for (std::size_t i = begin; i > 8; --i) length = length << 8 | byte(i - 1);
  if (bytes.size() - begin < length) throw truncated(begin + length);
  NpyHeader header = Scanner(text.substr(begin, length), what).dictionary();
  header.data_at = begin + length;
  return header;
}

}  // namespace gpuforge
