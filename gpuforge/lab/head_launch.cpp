// Names, expressions and launches of a head.
#include <algorithm>
#include <cctype>

#include "gpuforge/base/error.h"
#include "gpuforge/base/suggest.h"
#include "gpuforge/lab/head_reader.h"

namespace gpuforge::lab {
namespace {

constexpr std::string_view kTaken[] = {"and", "or", "not", "sizeof", "int", "float", "double", "none"};

bool is_name(std::string_view text) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), part);
}

bool contains(std::span<const std::string> list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::string joined(std::span<const std::string> list) {
  std::string text;
  for (const std::string& item : list) text += (text.empty() ? "" : ", ") + item;
  return text;
}

bool balanced(std::string_view text) {
  return std::count(text.begin(), text.end(), '(') <= std::count(text.begin(), text.end(), ')');
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct Item {
  const Yaml* yaml = nullptr;
  const Yaml* key = nullptr;  // of `eps: f32 = 1e-5`
  std::string text;
};

// The items of a list, or the one value; those that YAML cut at a comma inside of parentheses put together.
std::vector<Item> items_of(const Yaml& yaml) {
  std::vector<Item> items;
  const auto add = [&](const Yaml& item) {
    const bool pair = item.is_map();
    if (pair && item.map().size() != 1) item.fail("expected one NAME: TYPE = VALUE");
    const Yaml& value = pair ? item.map()[0].second : item;
    if (!pair && !items.empty() && !balanced(items.back().text)) {
      items.back().text += ", " + value.text();
    } else {
      items.push_back({&value, pair ? &item.map()[0].first : nullptr, value.text()});
    }
  };
  if (yaml.is_list()) {
    for (const Yaml& item : yaml.list()) add(item);
  } else {
    add(yaml);
  }
  return items;
}

// `eps: f32 = 1e-5`, or an operand, or a number the kernel declares the type of.
HeadParameter read_parameter(const Item& item, const LaunchNames& names) {
  HeadParameter parameter;
  if (item.key == nullptr) {
    parameter.name = item.text;
    if (contains(names.operands, item.text)) return parameter;
    std::vector<std::string> known = names.values;
    known.insert(known.end(), names.operands.begin(), names.operands.end());
    Expression value = Expression::parse(item.text, item.yaml->where());
    value.allow_names(known);
    for (const std::string& name : value.names()) {
      if (contains(names.operands, name) && !contains(names.values, name))
        item.yaml->fail(format_text("'{}' is an operand, and no number to compute with", name));
    }
    parameter.value = std::move(value);
    return parameter;
  }
  parameter.name = item.key->text();
  const std::size_t equals = item.text.find('=');
  parameter.type = trimmed(std::string_view(item.text).substr(0, equals));
  if (equals == std::string::npos || item.text.substr(equals, 2) == "==")
    item.yaml->fail(format_text("expected TYPE = VALUE, as in `eps: f32 = 1e-5`; found '{}'", item.text));
  if (parameter.type != "u16" && parameter.type != "u32" && parameter.type != "u64") {
    const auto dtype = parse_dtype(parameter.type);
    if (!dtype)
      item.yaml->fail(format_text("expected a type such as f32, i32 or u64; found '{}'", parameter.type));
    parameter.type = name(*dtype);
  }
  parameter.value =
      Expression::parse(trimmed(std::string_view(item.text).substr(equals + 1)), item.yaml->where());
  parameter.value->allow_names(names.values);
  return parameter;
}

void check_braces(const Yaml& yaml, const LaunchNames& names) {
  substitute(yaml.text(), [&](std::string_view name) {
    if (!contains(names.replaceable, name)) {
      yaml.fail(format_text("'{{{}}}' stands for nothing{}", name,
                            did_you_mean(name, names.replaceable).empty()
                                ? format_text("; there are {}", joined(names.replaceable))
                                : did_you_mean(name, names.replaceable)));
    }
    return std::string();
  });
}

}  // namespace

std::string substitute(const std::string& text, const std::function<std::string(std::string_view)>& text_of) {
  std::string result;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = text.find('{', at);
    const std::size_t close = open == std::string::npos ? open : text.find('}', open);
    if (close == std::string::npos) return result + text.substr(at);
    result += text.substr(at, open - at) +
              text_of(trimmed(std::string_view(text).substr(open + 1, close - open - 1)));
    at = close + 1;
  }
}

std::string read_name(const Yaml& yaml, std::string_view what) {
  const std::string& text = yaml.text();
  if (!is_name(text)) yaml.fail(format_text("expected a name for {}; found '{}'", what, text));
  if (std::find(std::begin(kTaken), std::end(kTaken), text) != std::end(kTaken))
    yaml.fail(format_text("'{}' has a meaning of its own: take another name for {}", text, what));
  return text;
}

std::vector<std::string> read_names(const Yaml& yaml, std::string_view what) {
  std::vector<std::string> names;
  for (const Yaml& item : yaml.list()) {
    std::string name = read_name(item, what);
    if (contains(names, name)) item.fail(format_text("'{}' stands there twice", name));
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> read_texts(const Yaml& yaml) {
  std::vector<std::string> texts;
  if (!yaml.is_list()) return {yaml.text()};
  for (const Yaml& item : yaml.list()) texts.push_back(item.text());
  return texts;
}

DType read_dtype(const Yaml& yaml) {
  const auto dtype = parse_dtype(yaml.text());
  if (!dtype) yaml.fail(format_text("expected a dtype such as f32, f16 or bf16; found '{}'", yaml.text()));
  return *dtype;
}

Expression read_expression(const Yaml& yaml, std::span<const std::string> known) {
  Expression expression = Expression::parse(yaml.text(), yaml.where());
  expression.allow_names(known);
  return expression;
}

std::vector<Expression> read_expressions(const Yaml& yaml, std::span<const std::string> known) {
  std::vector<Expression> list;
  for (const Item& item : items_of(yaml)) {
    if (item.key != nullptr) item.key->fail("expected an expression; found a key");
    list.push_back(Expression::parse(item.text, item.yaml->where()));
    list.back().allow_names(known);
  }
  return list;
}

std::vector<Expression> read_extents(const Yaml& yaml, std::span<const std::string> known) {
  std::vector<Expression> list = read_expressions(yaml, known);
  if (list.empty() || list.size() > 3)
    yaml.fail(format_text("expected one to three extents; found {}", list.size()));
  return list;
}

HeadLaunch read_launch(const Yaml& yaml, const LaunchNames& names, const HeadLaunch* other) {
  HeadLaunch launch;
  launch.where = yaml.where();
  const Yaml& kernel = yaml.at("kernel");
  launch.kernel = kernel.text();
  launch.where = kernel.where();
  if (trimmed(launch.kernel).empty()) kernel.fail("expected the kernel's name");
  check_braces(kernel, names);
  const Yaml* const parameters = yaml.find("parameters");
  if (parameters != nullptr) {
    if (parameters->is_list() || parameters->is_scalar()) {
      for (const Item& item : items_of(*parameters)) launch.parameters.push_back(read_parameter(item, names));
    } else if (!parameters->is_null()) {
      parameters->fail("expected a list of the kernel's parameters in their order");
    }
  } else if (other != nullptr) {
    launch.parameters = other->parameters;
  } else {
    yaml.at("parameters");
  }
  const auto extents = [&](std::string_view key, const std::vector<Expression>* fallback) {
    if (const Yaml* const found = yaml.find(key)) return read_extents(*found, names.values);
    if (fallback != nullptr) return *fallback;
    return read_extents(yaml.at(key), names.values);
  };
  launch.grid = extents("grid", other != nullptr ? &other->grid : nullptr);
  launch.block = extents("block", other != nullptr ? &other->block : nullptr);
  if (const Yaml* const cluster = yaml.find("cluster")) launch.cluster = read_extents(*cluster, names.values);
  if (const Yaml* const shared = yaml.find("shared")) launch.shared = read_expression(*shared, names.values);
  return launch;
}

}  // namespace gpuforge::lab
