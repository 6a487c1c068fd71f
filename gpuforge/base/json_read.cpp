// The one place that reads JSON text: nlohmann's parser reports events, a builder makes our values.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/base/json.h"
#include "gpuforge/base/utf8.h"

namespace gpuforge {
namespace {

constexpr std::size_t kMaxDepth = 200;

// Keeps the place of a key's first appearance and the value of its last. Hash tables, because a hostile
// file may hold a million keys.
void remove_duplicate_keys(Json::Object& members) {
  std::unordered_map<std::string_view, std::size_t> first_at;
  std::vector<std::size_t> kept_as(members.size());
  bool any = false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    kept_as[i] = first_at.try_emplace(members[i].first, i).first->second;
    any = any || kept_as[i] != i;
  }
  if (!any) return;
  Json::Object unique;
  std::vector<std::size_t> new_index(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (kept_as[i] == i) {
      new_index[i] = unique.size();
      unique.emplace_back(std::move(members[i].first), std::move(members[i].second));
    } else {
      unique[new_index[kept_as[i]]].second = std::move(members[i].second);
    }
  }
  members = std::move(unique);
}

// The library's text without its own prefix, shortened, since it quotes the last token, however long.
std::string plain_reason(std::string_view text) {
  if (const auto column = text.find(", column "); column != std::string_view::npos) {
    if (const auto colon = text.find(": ", column); colon != std::string_view::npos)
      text.remove_prefix(colon + 2);
  } else if (const auto bracket = text.find("] "); bracket != std::string_view::npos) {
    text.remove_prefix(bracket + 2);
  }
  constexpr std::size_t kLongest = 200;
  if (text.size() <= kLongest) return repair_utf8(text);
  return repair_utf8(text.substr(0, kLongest)) + " ...";
}

// Turns the parser's events into our values. What it throws passes through the parser.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(Json(value)); }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }  // never in text

  bool start_object(std::size_t) override { return open(); }
  bool key(string_t& value) override {
    frames_.back().key = std::move(value);
    frames_.back().is_object = true;
    return true;
  }
  bool end_object() override {
    Json::Object members = std::move(frames_.back().members);
    frames_.pop_back();
    remove_duplicate_keys(members);
    return add(Json(std::move(members)));
  }

  bool start_array(std::size_t) override { return open(); }
  bool end_array() override {
    Json::Array items = std::move(frames_.back().items);
    frames_.pop_back();
    return add(Json(std::move(items)));
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    // The position counts characters read, the offending one included.
    fail_at(position == 0 ? 0 : position - 1, plain_reason(error.what()));
  }

  [[noreturn]] void fail_at(std::size_t offset, std::string_view reason) const {
    const std::string_view before = text_.substr(0, offset);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    throw Error(ErrorCode::parse, format_text("{}: line {}, column {}: {}", what_, line, column, reason));
  }

  Json take() { return std::move(root_); }

 private:
  struct Frame {
    bool is_object = false;
    std::string key;
    Json::Array items;
    Json::Object members;
  };

  bool open() {
    if (frames_.size() >= kMaxDepth) {
      throw Error(ErrorCode::parse, format_text("{}: nested deeper than {} levels", what_, kMaxDepth));
    }
    frames_.emplace_back();
    return true;
  }

  bool add(Json&& value) {
    next_place() = std::move(value);
    return true;
  }

  Json& next_place() {
    if (frames_.empty()) return root_;
    Frame& frame = frames_.back();
    if (frame.is_object) return frame.members.emplace_back(std::move(frame.key), Json()).second;
    return frame.items.emplace_back();
  }

  std::string_view text_;
  std::string_view what_;
  std::vector<Frame> frames_;
  Json root_;
};

}  // namespace

Json Json::parse(std::string_view text, std::string_view what) {
  Builder builder(text, what);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  // The parser takes a NUL for the end and would drop what follows it.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    builder.fail_at(nul, "a NUL byte, which JSON text cannot hold");
  }
  return builder.take();
}

}  // namespace gpuforge
