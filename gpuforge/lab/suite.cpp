#include "gpuforge/lab/suite.h"

#include <algorithm>

#include "gpuforge/base/embedded.h"
#include "gpuforge/base/suggest.h"
#include "gpuforge/base/yaml.h"

namespace gpuforge {
std::span<const EmbeddedFile> embedded_suites();  // generated
}

namespace gpuforge::lab {
namespace {

// The values of `many`, a list, or of `one`, a single value; none when neither is there.
std::vector<const Yaml*> one_or_many(const Yaml& map, std::string_view one, std::string_view many) {
  const Yaml* const single = map.find(one);
  const Yaml* const several = map.find(many);
  if (single != nullptr && several != nullptr) {
    several->fail(format_text("'{}' and '{}' exclude each other", one, many));
  }
  if (single != nullptr) return {single};
  std::vector<const Yaml*> values;
  if (several == nullptr) return values;
  for (const Yaml& value : several->list()) values.push_back(&value);
  if (values.empty()) several->fail(format_text("expected at least one of '{}'", many));
  return values;
}

Shape read_shape(const Yaml& yaml) {
  Shape shape;
  for (const Yaml& extent : yaml.list()) {
    shape.push_back(extent.integer());
    if (shape.back() < 0)
      extent.fail(format_text("expected an extent of at least 0; found {}", shape.back()));
  }
  try {
    element_count(shape);
  } catch (const Error& error) {
    yaml.fail(error.message());
  }
  return shape;
}

DType read_dtype(const Yaml& yaml) {
  const auto dtype = parse_dtype(yaml.text());
  if (!dtype) yaml.fail(format_text("expected a dtype such as f16; found '{}'", yaml.text()));
  return *dtype;
}

// Every combination of the options' values.
std::vector<Options> read_options(const Yaml* yaml) {
  std::vector<Options> all = {{}};
  if (yaml == nullptr) return all;
  for (const auto& [key, value] : yaml->map()) {
    std::vector<std::string> values;
    if (value.is_list()) {
      for (const Yaml& item : value.list()) values.push_back(item.text());
      if (values.empty()) value.fail(format_text("expected at least one value of '{}'", key.text()));
    } else {
      values.push_back(value.text());
    }
    std::vector<Options> more;
    for (const Options& options : all) {
      for (const std::string& item : values) {
        more.push_back(options);
        more.back()[key.text()] = item;
      }
    }
    all = std::move(more);
  }
  return all;
}

void read_cases(const Yaml& yaml, std::vector<SuiteCase>& cases) {
  yaml.allow_keys({"op", "shape", "shapes", "dtype", "dtypes", "variant", "variants", "options"});
  const std::string& op = yaml.at("op").text();
  std::vector<std::string> variants;
  for (const Yaml* variant : one_or_many(yaml, "variant", "variants")) variants.push_back(variant->text());
  if (variants.empty()) variants.emplace_back();
  std::vector<DType> dtypes;
  for (const Yaml* dtype : one_or_many(yaml, "dtype", "dtypes")) dtypes.push_back(read_dtype(*dtype));
  if (dtypes.empty()) dtypes.push_back(DType::f32);
  const std::vector<const Yaml*> shapes = one_or_many(yaml, "shape", "shapes");
  if (shapes.empty()) yaml.fail("expected the key 'shape' or 'shapes'");
  for (const Options& options : read_options(yaml.find("options"))) {
    for (const std::string& variant : variants) {
      for (const DType dtype : dtypes) {
        for (const Yaml* shape : shapes) {
          cases.push_back({.op = op,
                           .problem = {.shape = read_shape(*shape), .dtype = dtype, .options = options},
                           .variant = variant,
                           .where = yaml.where()});
        }
      }
    }
  }
}

std::optional<std::size_t> read_count(const Yaml* yaml, std::int64_t least) {
  if (yaml == nullptr) return std::nullopt;
  const std::int64_t value = yaml->integer();
  if (value < least) yaml->fail(format_text("expected a number of at least {}; found {}", least, value));
  return static_cast<std::size_t>(value);
}

}  // namespace

std::vector<Suite> read_suites(std::string_view text, std::string_view name) {
  const Yaml root = Yaml::parse(text, name);
  std::vector<Suite> suites;
  for (const auto& [key, value] : root.map()) {
    value.allow_keys({"summary", "warmup", "iterations", "cases"});
    Suite suite{.name = key.text()};
    if (const Yaml* summary = value.find("summary")) suite.summary = summary->text();
    suite.warmup = read_count(value.find("warmup"), 0);
    suite.iterations = read_count(value.find("iterations"), 1);
    for (const Yaml& item : value.at("cases").list()) read_cases(item, suite.cases);
    if (suite.cases.empty()) value.fail(format_text("expected at least one case in '{}'", suite.name));
    suites.push_back(std::move(suite));
  }
  return suites;
}

const Suite& find_suite(std::span<const Suite> suites, std::string_view name) {
  std::vector<std::string> names;
  std::string list;
  for (const Suite& suite : suites) {
    if (suite.name == name) return suite;
    names.push_back(suite.name);
    list += (list.empty() ? "" : ", ") + suite.name;
  }
  throw Error(ErrorCode::invalid_argument,
              format_text("there is no suite '{}'{} (there are {})", name, did_you_mean(name, names), list));
}

std::vector<Suite> built_in_suites() {
  const EmbeddedFile& file = embedded_suites().front();
  return read_suites(file.text, file.path);
}

}  // namespace gpuforge::lab
