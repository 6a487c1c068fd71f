#include "tests/ptx/ptx_case.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/base/half.h"

namespace gpuforge::ptx_files {
namespace {

constexpr std::array kTypes = {ElementType{"u8", Kind::unsigned_integer, 1},
                               ElementType{"s8", Kind::signed_integer, 1},
                               ElementType{"b8", Kind::bits, 1},
                               ElementType{"u16", Kind::unsigned_integer, 2},
                               ElementType{"s16", Kind::signed_integer, 2},
                               ElementType{"b16", Kind::bits, 2},
                               ElementType{"f16", Kind::floating, 2},
                               ElementType{"bf16", Kind::brain, 2},
                               ElementType{"u32", Kind::unsigned_integer, 4},
                               ElementType{"s32", Kind::signed_integer, 4},
                               ElementType{"b32", Kind::bits, 4},
                               ElementType{"f32", Kind::floating, 4},
                               ElementType{"u64", Kind::unsigned_integer, 8},
                               ElementType{"s64", Kind::signed_integer, 8},
                               ElementType{"b64", Kind::bits, 8},
                               ElementType{"f64", Kind::floating, 8},
                               ElementType{"b128", Kind::bits, 16}};

constexpr auto kPoison = std::byte{0xcd};
constexpr std::size_t kMaxElements = 1 << 16;
constexpr int kMaxDifferences = 8;

bool is_float(const ElementType& type) {
  return type.kind == Kind::floating || type.kind == Kind::brain;
}

Element float_element(const ElementType& type, double value) {
  if (type.kind == Kind::brain) return {BFloat16::from(value).bits, 0};
  if (type.bytes == 2) return {Half::from(value).bits, 0};
  if (type.bytes == 4) return {std::bit_cast<std::uint32_t>(static_cast<float>(value)), 0};
  return {std::bit_cast<std::uint64_t>(value), 0};
}

double float_value(const ElementType& type, const Element& element) {
  if (type.kind == Kind::brain) return BFloat16{static_cast<std::uint16_t>(element.low)}.to_double();
  if (type.bytes == 2) return Half{static_cast<std::uint16_t>(element.low)}.to_double();
  if (type.bytes == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(element.low));
  return std::bit_cast<double>(element.low);
}

// Neighbouring numbers have neighbouring places, -0 and 0 the same one.
long double place(const ElementType& type, const Element& element) {
  const std::uint64_t sign = std::uint64_t{1} << (type.bytes * 8 - 1);
  const auto magnitude = static_cast<long double>(element.low & (sign - 1));
  return (element.low & sign) != 0 ? -magnitude : magnitude;
}

class Head {
 public:
  Head(std::string_view name, std::string_view text) : name_(name), text_(text) {}

  PtxCase read() {
    case_.name = name_;
    case_.text = text_;
    read_lines();
    read_directives();
    for (const Argument& argument : case_.arguments)
      if (argument.bytes.empty()) fail(format_text("{} has no values", argument.name));
    if (case_.arguments.empty()) fail("no argument is named");
    return std::move(case_);
  }

 private:
  [[noreturn]] void fail(std::string_view message) const {
    throw Error(ErrorCode::invalid_argument, format_text("{}.ptx:{}: {}", name_, line_, message));
  }

  static std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> found;
    while (true) {
      const std::size_t begin = text.find_first_not_of(" \t\r");
      if (begin == text.npos) return found;
      text.remove_prefix(begin);
      found.push_back(text.substr(0, std::min(text.find_first_of(" \t\r"), text.size())));
      text.remove_prefix(found.back().size());
    }
  }

  // `// key words: rest`; three or more spaces after the slashes go on with the line before.
  void read_lines() {
    std::string key, rest;
    int key_line = 0;
    const auto finish = [&] {
      const int here = std::exchange(line_, key_line);
      if (!key.empty()) take(key, rest);
      key.clear();
      line_ = here;
    };
    std::string_view left = text_;
    for (line_ = 1; left.starts_with("//"); ++line_) {
      const std::size_t end = std::min(left.find('\n'), left.size());
      const std::string_view line = left.substr(2, end - 2);
      left.remove_prefix(std::min(end + 1, left.size()));
      if (line.starts_with("   ")) {
        rest += line;
        continue;
      }
      finish();
      const std::size_t colon = line.find(':');
      if (line_ == 1 || colon == line.npos) continue;
      key = line.substr(0, colon);
      rest = line.substr(colon + 1);
      key_line = line_;
    }
    finish();
  }

  void take(std::string_view key_text, std::string_view rest) {
    const std::vector<std::string_view> key = words(key_text);
    const std::vector<std::string_view> values = words(rest);
    if (key.empty() || values.empty()) fail("a key and what it says are expected");
    if (key[0] == "kernel") {
      case_.entry = values[0];
    } else if (key[0] == "grid") {
      case_.grid = extent(values);
    } else if (key[0] == "block") {
      case_.block = extent(values);
    } else if (key[0] == "cluster") {
      case_.cluster = extent(values);
    } else if (key[0] == "shared") {
      case_.dynamic_shared_bytes = static_cast<std::size_t>(number(values[0]));
    } else if (key[0] == "sim-only") {
      case_.sim_only = rest.substr(rest.find_first_not_of(' '));
    } else if (key[0] == "cuda-only") {
      case_.cuda_only = rest.substr(rest.find_first_not_of(' '));
    } else if (key[0] == "expect") {
      case_.findings.assign(values.begin(), values.end());
    } else if (key[0] == "in" || key[0] == "out" || key[0] == "value") {
      take_argument(key, rest);
    } else {
      fail(format_text("unknown key '{}'", key[0]));
    }
  }

  std::uint64_t number(std::string_view word) const {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size())
      fail(format_text("a number is expected, found '{}'", word));
    return value;
  }

  Extent extent(const std::vector<std::string_view>& values) const {
    if (values.size() > 3) fail("up to three sizes are expected");
    std::array<std::uint32_t, 3> sizes{1, 1, 1};
    for (std::size_t i = 0; i < values.size(); ++i) sizes[i] = static_cast<std::uint32_t>(number(values[i]));
    return {sizes[0], sizes[1], sizes[2]};
  }

  // in|out|value NAME TYPE [+-SIZE[ulp]]
  void take_argument(const std::vector<std::string_view>& key, std::string_view rest) {
    if (key.size() < 3 || key.size() > 4) fail("'in NAME TYPE: values' is expected");
    const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const ElementType& one) { return one.name == key[2]; });
    if (type == kTypes.end()) fail(format_text("unknown type '{}'", key[2]));
    const std::vector<Expected> values = elements(*type, rest);
    Argument& argument = argument_named(key[1], *type);
    if (key[0] == "out") {
      if (!argument.expected.empty() || argument.by_value)
        fail(format_text("{} has its values already", key[1]));
      argument.expected = values;
      const std::size_t bytes = values.size() * type->bytes;
      if (argument.has_input && argument.bytes.size() != bytes) fail(format_text("{} has two sizes", key[1]));
      if (!argument.has_input) argument.bytes.assign(bytes, kPoison);
      if (key.size() == 4) argument.tolerance = tolerance(*type, key[3]);
      return;
    }
    if (argument.has_input || !argument.expected.empty())
      fail(format_text("{} has its values already", key[1]));
    if (key.size() == 4) fail("only outputs have a tolerance");
    argument.has_input = true;
    argument.by_value = key[0] == "value";
    for (const Expected& value : values) {
      if (value.rule == Expected::Rule::any) fail("an input needs a value");
      const std::array<std::uint64_t, 2> halves{value.value.low, value.value.high};
      const auto* begin = reinterpret_cast<const std::byte*>(halves.data());
      argument.bytes.insert(argument.bytes.end(), begin, begin + type->bytes);
    }
  }

  Argument& argument_named(std::string_view name, const ElementType& type) {
    for (Argument& argument : case_.arguments) {
      if (argument.name != name) continue;
      if (argument.type.bytes != type.bytes) fail(format_text("{} has two types", name));
      argument.type = type;
      return argument;
    }
    case_.arguments.push_back({.name = std::string(name), .type = type});
    return case_.arguments.back();
  }

  Tolerance tolerance(const ElementType& type, std::string_view word) const {
    std::string size(word);
    const bool relative = size.ends_with("ulp");
    if (relative) size.resize(size.size() - 3);
    if (!size.starts_with("+-") || !is_float(type))
      fail("a tolerance like +-2ulp or +-1e-6 of floats is expected");
    char* end = nullptr;
    const double value = std::strtod(size.c_str() + 2, &end);
    if (*end != '\0' || !(value > 0))
      fail(format_text("a tolerance like +-2ulp or +-1e-6 is expected, found '{}'", word));
    return {relative, value};
  }

  // Values; `a..b` counts up, `v*n` repeats, (words) are for the reader.
  std::vector<Expected> elements(const ElementType& type, std::string_view text) const {
    std::string plain;
    int depth = 0;
    for (const char c : text) {
      depth += c == '(' ? 1 : 0;
      if (depth == 0) plain += c;
      depth -= c == ')' && depth > 0 ? 1 : 0;
    }
    std::vector<Expected> found;
    for (std::string_view word : words(plain)) {
      if (const std::size_t dots = word.find(".."); dots != word.npos) {
        const std::uint64_t first = number(word.substr(0, dots)), last = number(word.substr(dots + 2));
        if (last < first || last - first >= kMaxElements)
          fail(format_text("a range counts up, found '{}'", word));
        for (std::uint64_t one = first; one <= last; ++one)
          found.push_back(element(type, std::to_string(one)));
      } else if (const std::size_t star = word.find('*'); star != word.npos) {
        const std::uint64_t count = number(word.substr(star + 1));
        if (count > kMaxElements) fail(format_text("too many elements in '{}'", word));
        found.insert(found.end(), count, element(type, std::string(word.substr(0, star))));
      } else {
        found.push_back(element(type, std::string(word)));
      }
    }
    if (found.empty()) fail("values are expected");
    return found;
  }

  Expected element(const ElementType& type, const std::string& word) const {
    if (word == "_") return {Expected::Rule::any, {}};
    if (word.starts_with("0x")) return {Expected::Rule::bits, hexadecimal(type, word)};
    char* end = nullptr;
    if (is_float(type)) {
      if (word == "nan") return {Expected::Rule::not_a_number, float_element(type, std::nan(""))};
      const double value =
          type.bytes == 4 ? std::strtof(word.c_str(), &end) : std::strtod(word.c_str(), &end);
      if (*end == '\0') return {Expected::Rule::bits, float_element(type, value)};
    } else if (type.kind != Kind::bits) {
      const bool negative = word.starts_with("-");
      const std::uint64_t magnitude = number(std::string_view(word).substr(negative ? 1 : 0));
      const unsigned width = type.bytes * 8 - (type.kind == Kind::signed_integer ? 1 : 0);
      const std::uint64_t largest = (width == 64 ? 0 : std::uint64_t{1} << width) - 1;
      if (negative ? type.kind != Kind::signed_integer || magnitude > largest + 1 : magnitude > largest)
        fail(format_text("{} is no {}", word, type.name));
      const std::uint64_t mask = ~std::uint64_t{0} >> (64 - type.bytes * 8);
      return {Expected::Rule::bits, {(negative ? 0 - magnitude : magnitude) & mask, 0}};
    }
    fail(format_text("'{}' is no value of type {}", word, type.name));
  }

  Element hexadecimal(const ElementType& type, std::string_view word) const {
    std::string digits(word.substr(2));
    if (digits.empty() || digits.size() > type.bytes * 2) fail(format_text("{} is no {}", word, type.name));
    digits.insert(0, 32 - digits.size(), '0');
    Element value;
    for (std::size_t i = 0; i < 32; ++i) {
      const auto at = std::string_view("0123456789abcdef").find(digits[i]);
      if (at == std::string_view::npos) fail(format_text("'{}' is no hexadecimal number", word));
      (i < 16 ? value.high : value.low) = (i < 16 ? value.high : value.low) << 4 | at;
    }
    return value;
  }

  // The only entry when none was named, and the chip.
  void read_directives() {
    constexpr std::string_view kEntry = ".entry ", kTarget = ".target sm_";
    if (case_.entry.empty()) {
      const std::size_t at = text_.find(kEntry);
      if (at == text_.npos) fail("no .entry");
      const std::string_view after = text_.substr(at + kEntry.size());
      case_.entry = after.substr(0, after.find_first_of(" (\n"));
      if (after.find(kEntry) != after.npos) fail("several entries, and no 'kernel: NAME'");
    }
    const std::size_t at = text_.find(kTarget);
    if (at == text_.npos) fail("no .target");
    const std::string_view after = text_.substr(at + kTarget.size());
    const std::size_t digits = after.find_first_not_of("0123456789");
    case_.target = static_cast<int>(number(after.substr(0, digits)));
    case_.target_is_exact = after.substr(digits).starts_with('a');
  }

  const std::string_view name_;
  const std::string_view text_;
  int line_ = 1;
  PtxCase case_;
};

std::string shown(const ElementType& type, const Element& element) {
  static constexpr std::string_view kPatterns[] = {"0x{:02x}", "0x{:04x}", "0x{:08x}", "0x{:016x}"};
  if (type.bytes == 16) return format_text("0x{:016x}{:016x}", element.high, element.low);
  const std::string bits =
      format_text(kPatterns[static_cast<std::size_t>(std::countr_zero(type.bytes))], element.low);
  if (is_float(type)) return format_text("{} ({})", float_value(type, element), bits);
  if (type.kind != Kind::signed_integer) return format_text("{} ({})", element.low, bits);
  const unsigned unused = 64 - type.bytes * 8;
  return format_text("{} ({})", static_cast<std::int64_t>(element.low << unused) >> unused, bits);
}

bool agrees(const Argument& argument, const Expected& expected, const Element& found) {
  if (expected.rule == Expected::Rule::any) return true;
  const ElementType& type = argument.type;
  if (expected.rule == Expected::Rule::not_a_number) return std::isnan(float_value(type, found));
  if (argument.tolerance.size == 0 || expected.value == found) return expected.value == found;
  const double wanted = float_value(type, expected.value), value = float_value(type, found);
  if (!std::isfinite(wanted) || !std::isfinite(value)) return false;
  const long double distance = argument.tolerance.relative
                                   ? std::abs(place(type, expected.value) - place(type, found))
                                   : std::abs(wanted - value);
  return distance <= argument.tolerance.size;
}

}  // namespace

PtxCase read_case(std::string_view path, std::string_view text) {
  path.remove_prefix(path.rfind('/') + 1);
  path.remove_suffix(path.ends_with(".ptx") ? 4 : 0);
  return Head(path, text).read();
}

std::string differences(const Argument& argument, std::span<const std::byte> found) {
  std::string text;
  int count = 0;
  for (std::size_t i = 0; i < argument.expected.size(); ++i) {
    std::array<std::uint64_t, 2> halves{};
    std::memcpy(halves.data(), found.data() + i * argument.type.bytes, argument.type.bytes);
    const Element value{halves[0], halves[1]};
    const Expected& expected = argument.expected[i];
    if (agrees(argument, expected, value) || ++count > kMaxDifferences) continue;
    const std::string wanted =
        expected.rule == Expected::Rule::bits ? shown(argument.type, expected.value) : "a NaN";
    text +=
        format_text("{}[{}]: expected {}, found {}\n", argument.name, i, wanted, shown(argument.type, value));
  }
  if (count > kMaxDifferences) text += format_text("{}: {} elements differ\n", argument.name, count);
  return text;
}

}  // namespace gpuforge::ptx_files
