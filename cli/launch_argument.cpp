#include "cli/launch_argument.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "cli/element_text.h"
#include "gpuforge/array/npy.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/base/suggest.h"

namespace gpuforge::cli {
namespace {

constexpr std::array<std::pair<std::string_view, std::size_t>, 3> kUnsigned = {
    std::pair<std::string_view, std::size_t>{"u16", 2}, {"u32", 4}, {"u64", 8}};

std::string type_names() {
  std::string out;
  for (DType dtype : kAllDTypes) out += (out.empty() ? "" : " ") + std::string(name(dtype));
  return out;
}

bool is_identifier(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

class ArgumentParser {
 public:
  ArgumentParser(std::string_view text, std::size_t index) : text_(text) {
    argument_.text = text;
    argument_.label = format_text("arg{}", index);
  }

  LaunchArgument parse() {
    const std::size_t sign = text_.find_first_of(":=");
    if (sign == std::string_view::npos) {
      fail(0, "expected TYPE:VALUE, in:..., out:... or inout:...");
    }
    if (text_[sign] == '=') {
      argument_.label = text_.substr(0, sign);
      argument_.named = true;
      if (!is_identifier(argument_.label)) fail(0, "expected a name of letters, digits and '_' before '='");
      at_ = sign + 1;
    }
    const std::size_t colon = text_.find(':', at_);
    if (colon == std::string_view::npos) fail(at_, "expected in:, out:, inout: or a type and ':'");
    const std::string_view kind = text_.substr(at_, colon - at_);
    const std::size_t kind_at = at_;
    at_ = colon + 1;
    if (kind == "in" || kind == "out" || kind == "inout") {
      argument_.role = kind == "in"    ? ArgumentRole::in
                       : kind == "out" ? ArgumentRole::out
                                       : ArgumentRole::inout;
      parse_array();
    } else {
      parse_scalar(kind, kind_at);
    }
    return std::move(argument_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, std::string_view expected) const {
    const std::string_view rest = text_.substr(std::min(at, text_.size()));
    const std::string found = rest.empty() ? "the end" : format_text("'{}'", rest.substr(0, 24));
    throw Error(ErrorCode::invalid_argument, format_text("run: --arg '{}': {}, found {} (at position {})",
                                                         text_, expected, found, at + 1));
  }
  [[noreturn]] void complain(std::size_t at, std::string_view problem) const {
    throw Error(ErrorCode::invalid_argument,
                format_text("run: --arg '{}': {} (at position {})", text_, problem, at + 1));
  }

  void parse_scalar(std::string_view type, std::size_t type_at) {
    const std::string_view value = text_.substr(at_);
    if (type == "hex") {
      argument_.scalar = hex_bytes(value, at_);
      argument_.type = format_text("struct of {} bytes", argument_.scalar.size());
      return;
    }
    argument_.type = type;
    for (const auto& [name_of, bytes] : kUnsigned) {
      if (type != name_of) continue;
      argument_.scalar.resize(bytes);
      if (auto problem = parse_unsigned(value, bytes, argument_.scalar.data())) complain(at_, *problem);
      return;
    }
    const DType dtype = parse_type(type, type_at, {"u16", "u32", "u64", "hex", "in", "out", "inout"});
    argument_.type = name(dtype);
    argument_.scalar.resize(element_bytes(dtype));
    if (auto problem = parse_element(value, dtype, argument_.scalar.data())) complain(at_, *problem);
  }

  // `more`: what may stand here besides a dtype.
  DType parse_type(std::string_view type, std::size_t type_at, std::vector<std::string> more) const {
    if (const auto dtype = parse_dtype(type)) return *dtype;
    std::string list = type_names();
    for (const std::string& word : more) list += " " + word;
    for (DType dtype : kAllDTypes) more.emplace_back(name(dtype));
    complain(type_at,
             format_text("expected a type ({}), found '{}'{}", list, type, did_you_mean(type, more)));
  }

  DType parse_array_type(std::string_view type, std::size_t type_at) const {
    for (const auto& [name_of, bytes] : kUnsigned) {
      if (type != name_of) continue;
      complain(type_at, format_text("arrays are of one of {}, and only scalars of {}; i{} has the same bits",
                                    type_names(), type, bytes * 8));
    }
    return parse_type(type, type_at, {});
  }

  void parse_array() {
    if (rest().starts_with('@')) {
      if (argument_.role == ArgumentRole::out)
        fail(at_, "expected a dtype and shape, since out has no initial value");
      parse_file();
      return;
    }
    const std::size_t type_end = std::min(text_.find_first_of("[=", at_), text_.size());
    const std::string_view type = text_.substr(at_, type_end - at_);
    argument_.dtype = parse_array_type(type, at_);
    argument_.type = name(*argument_.dtype);
    at_ = type_end;
    if (rest().starts_with('[')) parse_shape();
    if (argument_.role == ArgumentRole::out) {
      if (!rest().empty()) fail(at_, "expected nothing more, since out has no initial value (inout has)");
      if (!argument_.shape) fail(at_, "expected a shape such as [4,256]");
      (void)argument_.bytes();
      return;
    }
    if (!rest().starts_with('=')) fail(at_, "expected '=' and an initial value");
    ++at_;
    parse_initial();
    if (argument_.shape) (void)argument_.bytes();
  }

  void parse_shape() {
    ++at_;
    Shape shape;
    if (rest().starts_with(']')) {
      ++at_;
      argument_.shape = shape;  // no dimensions, one element
      return;
    }
    while (true) {
      const std::size_t end = std::min(text_.find_first_of(",]", at_), text_.size());
      const auto extent = parse_count(text_.substr(at_, end - at_));
      if (!extent) fail(at_, "expected a size such as 256, 2^20, 1e6 or 64Ki");
      if (shape.size() == kMaxRank) fail(at_, format_text("expected at most {} dimensions", kMaxRank));
      shape.push_back(*extent);
      at_ = end;
      if (end == text_.size()) fail(at_, "expected ',' or ']'");
      if (text_[at_++] == ']') break;
    }
    argument_.shape = shape;
  }

  void parse_initial() {
    const std::string_view text = rest();
    Initial& initial = argument_.initial;
    if (text.starts_with('@')) {
      parse_file();
      return;
    }
    if (text.starts_with('[')) {
      parse_list();
      return;
    }
    if (text.starts_with("hex:")) {
      at_ += 4;
      parse_hex();
      return;
    }
    if (!argument_.shape) fail(at_, "expected a shape before '=', or a list, hex: or @file that has one");
    if (text == "zeros") {
      initial.kind = Initial::Kind::zeros;
    } else if (text == "random") {
      initial.kind = Initial::Kind::random;
    } else if (text == "normal") {
      if (!is_floating(*argument_.dtype)) complain(at_, "normal needs a floating-point dtype");
      initial.kind = Initial::Kind::normal;
    } else if (text == "arange") {
      initial.kind = Initial::Kind::arange;
    } else {
      std::string_view number = text;
      if (number.starts_with("full:") || number.starts_with("full ")) {
        at_ += 5;
        number.remove_prefix(5);
      }
      if (number == "ones") number = "1";
      initial.kind = Initial::Kind::repeat;
      initial.bytes.resize(element_bytes(*argument_.dtype));
      if (auto problem = parse_element(number, *argument_.dtype, initial.bytes.data())) {
        const std::vector<std::string> known = {"zeros", "ones", "random", "normal", "arange"};
        complain(at_,
                 format_text(
                     "expected zeros, ones, random, normal, arange, a number, hex:.., a list or @file; {}{}",
                     *problem, did_you_mean(number, known)));
      }
    }
  }

  void parse_file() {
    argument_.initial.kind = Initial::Kind::file;
    argument_.initial.file = std::string(text_.substr(at_ + 1));
    if (argument_.initial.file.empty()) fail(at_ + 1, "expected a file name after '@'");
    if (argument_.initial.file.extension() != ".npy" && !argument_.dtype) {
      complain(at_,
               "a raw file needs a dtype and may have a shape, as in in:f32[1024]=@data.bin; .npy files know "
               "theirs");
    }
  }

  std::vector<std::byte> hex_bytes(std::string_view digits, std::size_t digits_at) const {
    std::vector<std::byte> bytes;
    const auto digit = [&](std::size_t i) {
      const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(digits[i])));
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      fail(digits_at + i, "expected hexadecimal digits");
    };
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
      bytes.push_back(static_cast<std::byte>(digit(i) * 16 + digit(i + 1)));
    }
    if (digits.size() % 2 != 0) {
      (void)digit(digits.size() - 1);
      fail(digits_at + digits.size(), "expected two digits for each byte");
    }
    if (bytes.empty()) fail(digits_at, "expected hexadecimal digits, two for each byte");
    return bytes;
  }

  void parse_hex() {
    Initial& initial = argument_.initial;
    const std::size_t width = element_bytes(*argument_.dtype);
    std::string_view digits = rest();
    const bool repeats = digits.ends_with("..");
    if (repeats) digits.remove_suffix(2);
    // An array without elements has no bytes to write down.
    const bool none = digits.empty() && !repeats && argument_.shape && argument_.bytes() == 0;
    if (!none) initial.bytes = hex_bytes(digits, at_);
    initial.kind = repeats ? Initial::Kind::repeat : Initial::Kind::elements;
    if (!argument_.shape) {
      if (repeats) complain(at_, "bytes that repeat need a shape before '='");
      if (initial.bytes.size() % width != 0) {
        complain(at_, format_text("{} bytes are no whole number of {} elements of {} bytes",
                                  initial.bytes.size(), argument_.type, width));
      }
      argument_.shape = Shape{static_cast<std::int64_t>(initial.bytes.size() / width)};
    } else if (repeats ? initial.bytes.size() % width != 0 : initial.bytes.size() != argument_.bytes()) {
      complain(at_, format_text("expected {} bytes, found {}{}", repeats ? width : argument_.bytes(),
                                initial.bytes.size(), repeats ? "" : " (end with '..' to repeat them)"));
    }
  }

  void parse_list() {
    const std::size_t start = at_;
    Shape shape;
    std::vector<bool> known;  // whether that dimension's extent is settled
    argument_.initial.kind = Initial::Kind::elements;
    parse_items(shape, known, 0);
    if (!rest().empty()) fail(at_, "expected nothing after the list");
    if (argument_.shape) {
      const std::int64_t listed = element_count(shape);
      const std::int64_t wanted = element_count(*argument_.shape);
      if (listed != wanted)
        complain(start, format_text("expected {} elements, found {} in the list", wanted, listed));
    } else {
      argument_.shape = shape;
    }
  }

  // One list at depth `depth`, at its '['.
  void parse_items(Shape& shape, std::vector<bool>& known, std::size_t depth) {
    const std::size_t start = at_++;
    if (depth == kMaxRank) fail(start, format_text("expected at most {} nested lists", kMaxRank));
    if (depth == shape.size()) {
      if (leaf_depth_ && depth >= *leaf_depth_) fail(start, "expected a number, as in the lists before");
      shape.push_back(0);
      known.push_back(false);
    }
    std::int64_t count = 0;
    skip_blanks();
    while (!rest().starts_with(']')) {
      if (rest().starts_with('[')) {
        parse_items(shape, known, depth + 1);
      } else {
        parse_leaf(shape, depth + 1);
      }
      ++count;
      skip_blanks();
      if (rest().starts_with(',')) {
        ++at_;
        skip_blanks();
        if (rest().starts_with(']')) fail(at_, "expected an element after ','");
      } else if (!rest().starts_with(']')) {
        fail(at_, "expected ',' or ']'");
      }
    }
    ++at_;
    if (known[depth] && shape[depth] != count) {
      complain(start, format_text("expected {} items as in the list before, found {}", shape[depth], count));
    }
    known[depth] = true;
    shape[depth] = count;
  }

  void parse_leaf(const Shape& shape, std::size_t depth) {
    if (depth != shape.size()) fail(at_, "expected a list, as before");
    leaf_depth_ = depth;
    const std::size_t end = std::min(text_.find_first_of(",[] \t\n", at_), text_.size());
    if (end == at_) fail(at_, "expected a number or ']'");
    std::vector<std::byte>& bytes = argument_.initial.bytes;
    const std::size_t width = element_bytes(*argument_.dtype);
    bytes.resize(bytes.size() + width);
    const auto problem =
        parse_element(text_.substr(at_, end - at_), *argument_.dtype, bytes.data() + bytes.size() - width);
    if (problem) complain(at_, *problem);
    at_ = end;
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  std::string_view rest() const { return text_.substr(at_); }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::size_t> leaf_depth_;
  LaunchArgument argument_;
};

}  // namespace

std::string_view name(ArgumentRole role) {
  switch (role) {
    case ArgumentRole::scalar:
      return "scalar";
    case ArgumentRole::in:
      return "in";
    case ArgumentRole::out:
      return "out";
    case ArgumentRole::inout:
      return "inout";
  }
  return "?";
}

std::size_t LaunchArgument::bytes() const {
  const std::int64_t count = element_count(*shape);
  const auto width = static_cast<std::int64_t>(element_bytes(*dtype));
  GPUFORGE_CHECK(count <= (std::int64_t{1} << 62) / width,
                 "run: --arg '{}': {} elements of {} are more bytes than exist", text, count, type);
  return static_cast<std::size_t>(count * width);
}

LaunchArgument parse_launch_argument(std::string_view text, std::size_t index) {
  return ArgumentParser(text, index).parse();
}

void load_file(LaunchArgument& argument) {
  if (argument.initial.kind != Initial::Kind::file) return;
  const std::filesystem::path& path = argument.initial.file;
  if (path.extension() == ".npy") {
    HostArray array = read_npy(path);
    GPUFORGE_CHECK(!argument.dtype || *argument.dtype == array.dtype,
                   "run: --arg '{}': the file holds {}, not {}", argument.text, name(array.dtype),
                   argument.type);
    GPUFORGE_CHECK(!argument.shape || *argument.shape == array.shape,
                   "run: --arg '{}': the file's shape is {}, not {}", argument.text, to_string(array.shape),
                   to_string(*argument.shape));
    argument.dtype = array.dtype;
    argument.type = name(array.dtype);
    argument.shape = array.shape;
    argument.initial.bytes = std::move(array.elements);
  } else {
    const std::string content = read_file(path);
    const std::size_t width = element_bytes(*argument.dtype);
    if (!argument.shape) {
      GPUFORGE_CHECK(content.size() % width == 0,
                     "run: --arg '{}': the file's {} bytes are no whole number of {} elements", argument.text,
                     content.size(), argument.type);
      argument.shape = Shape{static_cast<std::int64_t>(content.size() / width)};
    }
    GPUFORGE_CHECK(content.size() == argument.bytes(),
                   "run: --arg '{}': expected a file of {} bytes, found {}", argument.text, argument.bytes(),
                   content.size());
    const auto bytes = std::as_bytes(std::span(content));
    argument.initial.bytes.assign(bytes.begin(), bytes.end());
  }
  argument.initial.kind = Initial::Kind::elements;
}

}  // namespace gpuforge::cli
