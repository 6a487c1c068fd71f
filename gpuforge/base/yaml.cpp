#include "gpuforge/base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "gpuforge/base/error.h"
#include "gpuforge/base/suggest.h"

namespace gpuforge {
namespace {

constexpr int kDeepest = 64;
constexpr int kMostValues = 100'000;

template <typename T>
bool read_number(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() && !text.empty();
}

// Sees the documents of a text and none of what is in them.
struct DocumentCounter final : YAML::EventHandler {
  int count = 0;
  bool stuck = false;  // a document that begins where the one before it did
  YAML::Mark first;
  YAML::Mark second;

  void OnDocumentStart(const YAML::Mark& mark) override {
    (count == 0 ? first : second) = mark;
    stuck = count > 0 && mark.pos == first.pos;
    ++count;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}
};

// Up to two.
DocumentCounter count_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentCounter counter;
  while (counter.count < 2 && parser.HandleNextDocument(counter)) {
  }
  return counter;
}

}  // namespace

// From yaml-cpp's graph, in which an alias is the node itself, to a tree.
struct Yaml::Reader {
  std::shared_ptr<const std::string> name;
  int first_line;
  int values = 0;

  int line_of(const YAML::Mark& mark) const { return std::max(mark.line, 0) + first_line; }

  Yaml make(const YAML::Mark& mark) const {
    Yaml value;
    value.line_ = line_of(mark);
    value.name_ = name;
    return value;
  }

  Yaml read(const YAML::Node& node, const YAML::Mark& from, int depth) {
    // The mark of nothing is that of what follows it.
    const YAML::Mark mark = node.IsNull() || node.Mark().is_null() ? from : node.Mark();
    Yaml value = make(mark);
    if (depth > kDeepest) value.fail(format_text("nested deeper than {} levels", kDeepest));
    if (++values > kMostValues) value.fail(format_text("more than {} values", kMostValues));
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        value.kind_ = Kind::scalar;
        value.text_ = node.Scalar();
        break;
      case YAML::NodeType::Sequence:
        value.kind_ = Kind::list;
        for (const YAML::Node& item : node) value.list_.push_back(read(item, mark, depth + 1));
        break;
      case YAML::NodeType::Map:
        value.kind_ = Kind::map;
        for (const auto& pair : node) {
          Yaml key = read(pair.first, mark, depth + 1);
          if (!key.is_scalar()) key.fail("expected a plain word as the key");
          if (value.find(key.text_) != nullptr) key.fail(format_text("'{}' is set twice", key.text_));
          Yaml item = read(pair.second, pair.first.Mark(), depth + 1);
          value.map_.emplace_back(std::move(key), std::move(item));
        }
        break;
    }
    return value;
  }
};

Yaml Yaml::parse(std::string_view text, std::string_view name, int first_line) {
  Reader reader{std::make_shared<const std::string>(name), first_line};
  try {
    // Not YAML::LoadAll: for some texts (",") it finds documents without end.
    const DocumentCounter documents = count_documents(std::string(text));
    if (documents.stuck) reader.make(documents.second).fail("this cannot begin a value");
    if (documents.count > 1) reader.make(documents.second).fail("expected one document; found a second");
    if (documents.count == 0) return reader.make(YAML::Mark::null_mark());
    return reader.read(YAML::Load(std::string(text)), YAML::Mark::null_mark(), 0);
  } catch (const YAML::Exception& error) {
    reader.make(error.mark).fail(error.msg);
  }
}

std::string Yaml::where() const {
  return format_text("{}:{}", name_ ? *name_ : std::string("YAML"), line_);
}

void Yaml::fail(std::string_view problem) const {
  throw Error(ErrorCode::parse, format_text("{}: {}", where(), problem));
}

void Yaml::fail_kind(std::string_view expected) const {
  switch (kind_) {
    case Kind::null:
      fail(format_text("expected {}; found nothing", expected));
    case Kind::scalar:
      fail(format_text("expected {}; found '{}'", expected, text_));
    case Kind::list:
      fail(format_text("expected {}; found a list", expected));
    case Kind::map:
      fail(format_text("expected {}; found keys and values", expected));
  }
  throw Error(ErrorCode::internal, "YAML: not a kind of value");
}

const std::string& Yaml::text() const {
  if (kind_ != Kind::scalar) fail_kind("one plain value");
  return text_;
}

std::int64_t Yaml::integer() const {
  std::int64_t value = 0;
  if (kind_ != Kind::scalar || !read_number(text_, value)) fail_kind("a whole number");
  return value;
}

double Yaml::number() const {
  double value = 0;
  if (kind_ != Kind::scalar || !read_number(text_, value)) fail_kind("a number");
  return value;
}

bool Yaml::boolean() const {
  if (kind_ != Kind::scalar || (text_ != "true" && text_ != "false")) fail_kind("true or false");
  return text_ == "true";
}

const std::vector<Yaml>& Yaml::list() const {
  if (kind_ != Kind::list) fail_kind("a list");
  return list_;
}

const std::vector<Yaml::Member>& Yaml::map() const {
  if (kind_ != Kind::map) fail_kind("lines of the form `key: value`");
  return map_;
}

const Yaml* Yaml::find(std::string_view key) const {
  const std::vector<Member>& members = map();
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.first.text_ == key; });
  return found == members.end() ? nullptr : &found->second;
}

const Yaml& Yaml::at(std::string_view key) const {
  const Yaml* const value = find(key);
  if (value == nullptr) fail(format_text("expected the key '{}'", key));
  return *value;
}

void Yaml::allow_keys(std::initializer_list<std::string_view> known) const {
  std::vector<std::string> names(known.begin(), known.end());
  for (const Member& member : map()) {
    const std::string& key = member.first.text_;
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    member.first.fail(format_text("unknown key '{}'{} (known: {})", key, did_you_mean(key, names), list));
  }
}

}  // namespace gpuforge
