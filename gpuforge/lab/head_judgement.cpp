// How a head's kernel is judged: dtypes, conditions, tolerance, cost, shapes and contents.
#include <algorithm>

#include "gpuforge/base/error.h"
#include "gpuforge/lab/head_reader.h"

namespace gpuforge::lab {
namespace {

Tolerance read_tolerance(const Yaml& yaml) {
  Tolerance tolerance{.reason = format_text("{} says so", yaml.where())};
  if (yaml.is_scalar()) {
    if (yaml.text() != "exact")
      yaml.fail(format_text("expected exact, or relative, absolute and norm; found '{}'", yaml.text()));
    return tolerance;
  }
  yaml.allow_keys({"relative", "absolute", "norm"});
  const auto read = [&](std::string_view key) {
    const Yaml* const found = yaml.find(key);
    if (found == nullptr) return 0.0;
    const double value = found->number();
    if (!(value >= 0 && value < 1e30))
      found->fail(format_text("expected a number from 0; found '{}'", found->text()));
    return value;
  };
  tolerance.relative = read("relative");
  tolerance.absolute = read("absolute");
  tolerance.norm = read("norm");
  return tolerance;
}

void read_tolerances(const Yaml& yaml, KernelHead& head) {
  const Yaml* const tolerance = yaml.find("tolerance");
  if (tolerance == nullptr) return;
  const bool by_dtype = tolerance->is_map() && !tolerance->map().empty() &&
                        parse_dtype(tolerance->map().front().first.text()).has_value();
  if (!by_dtype) {
    head.tolerance = read_tolerance(*tolerance);
    return;
  }
  for (const auto& [key, value] : tolerance->map()) head.tolerances[read_dtype(key)] = read_tolerance(value);
}

// 33x65, or [33, 65].
Shape read_shape(const Yaml& yaml, std::size_t symbols) {
  Shape shape;
  try {
    if (yaml.is_list()) {
      for (const Yaml& extent : yaml.list()) shape.push_back(extent.integer());
      shape = parse_shape(shape_text(shape));
    } else {
      shape = parse_shape(yaml.text());
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::parse) throw;
    yaml.fail(error.message());
  }
  if (shape.size() != symbols) {
    yaml.fail(format_text("expected {} extents, one for each symbol; found {}", symbols, shape_text(shape)));
  }
  return shape;
}

Contents read_contents(const Yaml& yaml) {
  std::vector<std::string> names;
  for (const Contents contents : {Contents::normal, Contents::zeros, Contents::constant, Contents::huge,
                                  Contents::tiny, Contents::infinities, Contents::nans}) {
    if (yaml.text() == name(contents)) return contents;
    names.emplace_back(name(contents));
  }
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  yaml.fail(format_text("expected one of {}; found '{}'", list, yaml.text()));
}

}  // namespace

void read_dtypes(const Yaml& yaml, KernelHead& head) {
  if (const Yaml* const dtypes = yaml.find("dtypes")) {
    const auto add = [&](const Yaml& item) {
      const DType dtype = read_dtype(item);
      if (head.op &&
          std::find(head.op->dtypes.begin(), head.op->dtypes.end(), dtype) == head.op->dtypes.end())
        item.fail(format_text("the op {} has no {}", head.op->name, name(dtype)));
      if (std::find(head.dtypes.begin(), head.dtypes.end(), dtype) != head.dtypes.end())
        item.fail(format_text("{} stands there twice", name(dtype)));
      head.dtypes.push_back(dtype);
    };
    if (dtypes->is_list()) {
      for (const Yaml& item : dtypes->list()) add(item);
    } else {
      add(*dtypes);
    }
    if (head.dtypes.empty()) dtypes->fail("expected at least one dtype");
  } else if (head.op) {
    head.dtypes = head.op->dtypes;
  } else {
    head.dtypes = {DType::f32};
  }
}

void read_judgement(const Yaml& yaml, const LaunchNames& names, KernelHead& head) {
  if (const Yaml* const conditions = yaml.find("requires"))
    head.conditions = read_expressions(*conditions, names.values);
  read_tolerances(yaml, head);
  if (const Yaml* const cost = yaml.find("cost")) {
    cost->allow_keys({"read", "written", "flops"});
    if (const Yaml* const found = cost->find("read")) head.cost.read = read_expression(*found, names.values);
    if (const Yaml* const found = cost->find("written"))
      head.cost.written = read_expression(*found, names.values);
    if (const Yaml* const found = cost->find("flops"))
      head.cost.flops = read_expression(*found, names.values);
  }
  if (const Yaml* const shapes = yaml.find("check_shapes")) {
    for (const Yaml& item : shapes->list())
      head.check_shapes.push_back(read_shape(item, head.symbols.size()));
    if (head.check_shapes.empty()) shapes->fail("expected at least one shape");
  }
  if (const Yaml* const contents = yaml.find("contents")) {
    head.contents.emplace();
    for (const Yaml& item : contents->list()) head.contents->push_back(read_contents(item));
  }
  if (const Yaml* const deterministic = yaml.find("deterministic"))
    head.deterministic = deterministic->boolean();
}

}  // namespace gpuforge::lab
