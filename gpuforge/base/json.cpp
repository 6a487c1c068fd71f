#include "gpuforge/base/json.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "gpuforge/base/error.h"
#include "gpuforge/base/utf8.h"

namespace gpuforge {
namespace {

[[noreturn]] void fail_kind(std::string_view expected, const Json& found) {
  std::string_view kind = "null";
  if (found.is_bool()) kind = "a boolean";
  if (found.is_integer())
    kind = "an integer";
  else if (found.is_number())
    kind = "a number with a fraction or exponent";
  if (found.is_string()) kind = "a string";
  if (found.is_array()) kind = "an array";
  if (found.is_object()) kind = "an object";
  throw Error(ErrorCode::parse, format_text("JSON: expected {}, found {}", expected, kind));
}

void write_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  char digits[32];
  const auto result = std::to_chars(digits, digits + sizeof(digits), value);
  const std::string_view text(digits, static_cast<std::size_t>(result.ptr - digits));
  out += text;
  // Without this mark it would be read back as an integer.
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void write_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (char c : repair_utf8(text)) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[c >> 4];
          out += kHex[c & 0xf];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Json& json) {
    if (json.is_null()) {
      text_ += "null";
    } else if (json.is_bool()) {
      text_ += json.as_bool() ? "true" : "false";
    } else if (json.is_integer()) {
      text_ += std::to_string(json.as_integer());
    } else if (json.is_number()) {
      write_double(text_, json.as_double());
    } else if (json.is_string()) {
      write_string(text_, json.as_string());
    } else if (json.is_array()) {
      write_items('[', ']', json.as_array(), [this](const Json& item) { write(item); });
    } else {
      write_items('{', '}', json.as_object(), [this](const Json::Member& member) {
        write_string(text_, member.first);
        text_ += indent_ < 0 ? ":" : ": ";
        write(member.second);
      });
    }
  }

  std::string take() { return std::move(text_); }

 private:
  template <typename Items, typename WriteItem>
  void write_items(char open, char close, const Items& items, WriteItem write_item) {
    text_ += open;
    ++depth_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text_ += ',';
      break_line();
      write_item(items[i]);
    }
    --depth_;
    if (!items.empty()) break_line();
    text_ += close;
  }

  void break_line() {
    if (indent_ < 0) return;
    text_ += '\n';
    text_.append(static_cast<std::size_t>(indent_) * depth_, ' ');
  }

  int indent_;
  std::size_t depth_ = 0;
  std::string text_;
};

}  // namespace

Json::Json(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = static_cast<double>(value);
  }
}

bool Json::as_bool() const {
  if (const bool* value = std::get_if<bool>(&value_)) return *value;
  fail_kind("a boolean", *this);
}

std::int64_t Json::as_integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  fail_kind("an integer of 64 bits", *this);
}

double Json::as_double() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  fail_kind("a number", *this);
}

const std::string& Json::as_string() const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  fail_kind("a string", *this);
}

const Json::Array& Json::as_array() const {
  if (const auto* value = std::get_if<Array>(&value_)) return *value;
  fail_kind("an array", *this);
}

const Json::Object& Json::as_object() const {
  if (const auto* value = std::get_if<Object>(&value_)) return *value;
  fail_kind("an object", *this);
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : as_object()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* value = find(key)) return *value;
  throw Error(ErrorCode::parse,
              format_text("JSON: expected an object with the key '{}', which is missing", key));
}

Json& Json::set(std::string_view key, Json value) {
  if (!is_object()) fail_kind("an object", *this);
  auto& members = std::get<Object>(value_);
  for (Member& member : members) {
    if (member.first == key) {
      member.second = std::move(value);
      return *this;
    }
  }
  members.emplace_back(std::string(key), std::move(value));
  return *this;
}

Json& Json::push_back(Json value) {
  if (!is_array()) fail_kind("an array", *this);
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

std::string Json::dump(int indent) const {
  Writer writer(indent);
  writer.write(*this);
  return writer.take();
}

}  // namespace gpuforge
