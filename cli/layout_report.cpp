#include "cli/layout_report.h"

#include "cli/terminal.h"
#include "gpuforge/base/error.h"
#include "gpuforge/layout/coverage.h"
#include "gpuforge/layout/device_layout.h"

namespace gpuforge::cli {
namespace {

using layout::AnyLayout;
using layout::Integer;
using layout::Layout;
using layout::OffsetLayout;
using layout::SwizzledLayout;
using layout::TupleView;
using layout::Value;

Integer size_of(const Layout& plain) {
  try {
    return layout::size(plain);
  } catch (const Error& error) {
    throw Error(error.code(), format_text("layout: size({}): {}", to_text(plain), error.message()));
  }
}

std::optional<Integer> cosize_of(const Layout& plain) {
  if (!layout::size(plain).is(0)) return layout::cosize(plain);
  try {
    return layout::cosize(plain);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// What there is to say of a layout, with or without a swizzle.
struct Facts {
  const Layout& plain;
  const SwizzledLayout* swizzled;
  Integer size;
  std::optional<Integer> cosize;  // some layouts of size 0 have none
  layout::Coverage coverage;

  explicit Facts(const AnyLayout& any)
      : plain(std::holds_alternative<Layout>(any) ? std::get<Layout>(any)
                                                  : std::get<SwizzledLayout>(any).layout),
        swizzled(std::get_if<SwizzledLayout>(&any)),
        size(size_of(plain)),
        cosize(cosize_of(plain)),
        coverage(layout::coverage(any)) {}
};

Json json_of(Integer integer) {
  return integer.known() ? Json(integer.value()) : Json("?");
}

Json json_of(TupleView tuple) {
  if (tuple.is_underscore()) return "_";
  if (tuple.is_integer()) return json_of(tuple.integer());
  Json::Array elements;
  for (const TupleView element : tuple) elements.push_back(json_of(element));
  return elements;
}

Json json_of(const std::optional<bool>& truth) {
  return truth ? Json(*truth) : Json();
}

Json json_of(const layout::Swizzle& swizzle) {
  Json json = Json::object();
  json.set("bits", swizzle.bits());
  json.set("base", swizzle.base());
  json.set("shift", swizzle.shift());
  return json;
}

Json json_of(const Value& value);

void add_layout(Json& json, const AnyLayout& layout) {
  const Facts facts(layout);
  json.set("layout", to_text(layout));
  json.set("shape", json_of(facts.plain.shape().view()));
  json.set("stride", json_of(facts.plain.stride().view()));
  json.set("size", json_of(facts.size));
  json.set("cosize", facts.cosize ? json_of(*facts.cosize) : Json());
  json.set("rank", std::uint64_t{facts.plain.rank()});
  json.set("depth", std::uint64_t{layout::depth(facts.plain)});
  json.set("injective", json_of(facts.coverage.injective));
  json.set("compact", json_of(facts.coverage.compact));
  if (facts.swizzled == nullptr) return;
  Json swizzle = json_of(facts.swizzled->swizzle);
  swizzle.set("offset", json_of(facts.swizzled->offset));
  json.set("swizzle", std::move(swizzle));
}

// Of functions one after the other; where a swizzle comes first there is no shape.
void add_composed(Json& json, const layout::ComposedLayout& composed) {
  json.set("layout", to_text(composed));
  const Layout* const domain = layout::domain(composed);
  json.set("shape", domain != nullptr ? json_of(domain->shape().view()) : Json());
  json.set("size", domain != nullptr ? json_of(size_of(*domain)) : Json());
  json.set("rank", std::uint64_t{domain != nullptr ? domain->rank() : 1});
  json.set("depth", std::uint64_t{domain != nullptr ? layout::depth(*domain) : 0});
}

void add_mapping(Json& json, const layout::Mapping& mapping) {
  if (const auto* const plain = std::get_if<Layout>(&mapping))
    add_layout(json, *plain);
  else if (const auto* const swizzled = std::get_if<SwizzledLayout>(&mapping))
    add_layout(json, *swizzled);
  else
    add_composed(json, std::get<layout::ComposedLayout>(mapping));
}

// True where the value is a layout.
bool add_if_layout(Json& json, const Value& value) {
  if (const auto* const plain = std::get_if<Layout>(&value.is)) {
    add_layout(json, *plain);
  } else if (const auto* const swizzled = std::get_if<SwizzledLayout>(&value.is)) {
    add_layout(json, *swizzled);
  } else if (const auto* const composed = std::get_if<layout::ComposedLayout>(&value.is)) {
    add_composed(json, *composed);
  } else if (const auto* const part = std::get_if<OffsetLayout>(&value.is)) {
    add_mapping(json, part->layout);
    json.set("offset", json_of(part->offset));
  } else {
    return false;
  }
  return true;
}

// Layouts are objects, numbers numbers, tuples arrays.
Json json_of(const Value& value) {
  Json object = Json::object();
  if (add_if_layout(object, value)) return object;
  if (const auto* const tuple = std::get_if<layout::IntTuple>(&value.is)) return json_of(tuple->view());
  if (const auto* const truth = std::get_if<bool>(&value.is)) return *truth;
  if (const auto* const swizzle = std::get_if<layout::Swizzle>(&value.is)) return json_of(*swizzle);
  if (const auto* const width = std::get_if<layout::VectorWidth>(&value.is)) return width->elements;
  Json::Array elements;
  for (const Value& one : std::get<Value::Values>(value.is)) elements.push_back(json_of(one));
  return elements;
}

constexpr int kTextColumn = 10;  // of a row

std::string row(std::string_view label, std::string_view text) {
  return format_text("  {:<8}{}\n", label, text);
}

std::string number_text(Integer integer) {
  return to_text(layout::IntTuple(integer));
}

std::string indices_text(const layout::Coverage& coverage, Integer size) {
  if (coverage.compact.value_or(false)) return format_text("0 to {}, each once", size.value() - 1);
  if (!coverage.injective) return {};
  return *coverage.injective ? "each at most once" : "some more than once";
}

std::string layout_rows(const AnyLayout& layout) {
  const Facts facts(layout);
  std::string out = row("size", number_text(facts.size));
  if (facts.cosize) out += row("cosize", number_text(*facts.cosize));
  out += row("rank", format_text("{}, depth {}", facts.plain.rank(), layout::depth(facts.plain)));
  const std::string indices = indices_text(facts.coverage, facts.size);
  return indices.empty() ? out : out + row("indices", indices);
}

std::string composed_rows(const layout::ComposedLayout& composed) {
  const Layout* const domain = layout::domain(composed);
  if (domain == nullptr) return {};
  return row("size", number_text(size_of(*domain))) +
         row("rank", format_text("{}, depth {}", domain->rank(), layout::depth(*domain)));
}

std::string mapping_rows(const layout::Mapping& mapping) {
  if (const auto* const plain = std::get_if<Layout>(&mapping)) return layout_rows(*plain);
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&mapping)) return layout_rows(*swizzled);
  return composed_rows(std::get<layout::ComposedLayout>(mapping));
}

}  // namespace

void add_unknown(Json& json, const std::vector<std::string>& names) {
  if (!names.empty()) json.set("unknown", Json::Array(names.begin(), names.end()));
}

void add_value(Json& json, const Value& value) {
  if (add_if_layout(json, value)) return;
  json.set("value", json_of(value));
  json.set("text", to_text(value));
  if (const auto* const width = std::get_if<layout::VectorWidth>(&value.is)) {
    json.set("bytes", width->bytes);
    Json::Array why;
    for (const std::string& sentence : width->why) why.emplace_back(sentence);
    json.set("why", std::move(why));
  }
}

std::string type_text(const Value& value) {
  if (const auto* const tuple = std::get_if<layout::IntTuple>(&value.is)) return layout::device_type(*tuple);
  if (const auto* const plain = std::get_if<Layout>(&value.is)) return layout::device_type(*plain);
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&value.is))
    return layout::device_type(*swizzled);
  if (const auto* const swizzle = std::get_if<layout::Swizzle>(&value.is))
    return layout::device_type(*swizzle);
  if (const auto* const part = std::get_if<OffsetLayout>(&value.is)) {
    // In a kernel the pointer goes to where a part begins.
    if (const auto* const plain = std::get_if<Layout>(&part->layout)) return layout::device_type(*plain);
    if (const auto* const swizzled = std::get_if<SwizzledLayout>(&part->layout))
      return layout::device_type(*swizzled);
  }
  const bool composed = std::holds_alternative<layout::ComposedLayout>(value.is);
  throw Error(
      ErrorCode::invalid_argument,
      format_text(composed ? "layout: --type: in kernels a layout has at most one swizzle before it; {} "
                             "has no type there"
                           : "layout: --type: expected a layout or a shape, found {}",
                  to_text(value)));
}

std::string value_text(const Value& value, int columns) {
  std::string out = to_text(value) + "\n";
  if (const auto* const plain = std::get_if<Layout>(&value.is)) return out + layout_rows(*plain);
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&value.is))
    return out + layout_rows(*swizzled);
  if (const auto* const composed = std::get_if<layout::ComposedLayout>(&value.is))
    return out + composed_rows(*composed);
  if (const auto* const part = std::get_if<OffsetLayout>(&value.is))
    return out + row("offset", number_text(part->offset)) + mapping_rows(part->layout);
  if (const auto* const width = std::get_if<layout::VectorWidth>(&value.is)) {
    out += row("bytes", std::to_string(width->bytes));
    for (const std::string& sentence : width->why)
      out += row(&sentence == &width->why.front() ? "why" : "",
                 wrap(sentence, columns, kTextColumn, kTextColumn));
  }
  const auto* const values = std::get_if<Value::Values>(&value.is);
  if (values == nullptr) return out;
  for (std::size_t i = 0; i < values->size(); ++i)
    out += format_text("\n{}: {}", i, value_text((*values)[i], columns));
  return out;
}

}  // namespace gpuforge::cli
