// A YAML document as a tree of values that know their line, for files people write: suites, kernel heads,
// gpuforge.yaml. Every complaint is a parse Error that starts with file and line.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuforge {

class Yaml {
 public:
  using Member = std::pair<Yaml, Yaml>;  // the key is a scalar

  Yaml() = default;  // null

  // One document; nothing but comments is null. `name` is what messages call it, `first_line` the number of
  // the text's first line in the file it was cut from. A key that stands twice is refused, and so are trees
  // deeper than 64 or of more than 100,000 values (aliases count each time).
  static Yaml parse(std::string_view text, std::string_view name, int first_line = 1);

  bool is_null() const { return kind_ == Kind::null; }
  bool is_scalar() const { return kind_ == Kind::scalar; }
  bool is_list() const { return kind_ == Kind::list; }
  bool is_map() const { return kind_ == Kind::map; }
  int line() const { return line_; }
  std::string where() const;  // "suites.yaml:12"
  [[noreturn]] void fail(std::string_view problem) const;

  // Each is a parse Error that says what was expected and found when the value is another.
  const std::string& text() const;  // of a scalar, as written
  std::int64_t integer() const;
  double number() const;
  bool boolean() const;  // true or false
  const std::vector<Yaml>& list() const;
  const std::vector<Member>& map() const;  // in the order of the file

  // Of a map: nullptr when the key is not there, or a parse Error naming it.
  const Yaml* find(std::string_view key) const;
  const Yaml& at(std::string_view key) const;
  // parse Error at the first key that is not one of these, with the nearest and the whole list.
  void allow_keys(std::initializer_list<std::string_view> known) const;

 private:
  enum class Kind { null, scalar, list, map };
  struct Reader;
  [[noreturn]] void fail_kind(std::string_view expected) const;
  Kind kind_ = Kind::null;
  int line_ = 1;
  std::shared_ptr<const std::string> name_;
  std::string text_;
  std::vector<Yaml> list_;
  std::vector<Member> map_;
};

}  // namespace gpuforge
