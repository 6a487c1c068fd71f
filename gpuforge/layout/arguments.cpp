#include "gpuforge/layout/arguments.h"

#include <algorithm>

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

constexpr std::size_t kMostNumbers = 8192;
constexpr std::size_t kDeepest = 64;

struct Extent {
  std::size_t numbers = 0;
  std::size_t depth = 0;
};

Extent extent(const Value& value) {
  struct Measure {
    Extent operator()(const IntTuple& tuple) const {
      return {tuple.view().node_count(), depth(tuple.view())};
    }
    Extent operator()(const Layout& layout) const { return (*this)(layout.shape()); }
    Extent operator()(const SwizzledLayout& swizzled) const { return (*this)(swizzled.layout); }
    Extent operator()(const ComposedLayout& composed) const {
      const Extent outer = std::visit(*this, composed.outer()), inner = std::visit(*this, composed.inner());
      return {outer.numbers + inner.numbers, std::max(outer.depth, inner.depth) + 1};
    }
    Extent operator()(const OffsetLayout& part) const { return std::visit(*this, part.layout); }
    Extent operator()(const Swizzle&) const { return {1, 0}; }
    Extent operator()(bool) const { return {1, 0}; }
    Extent operator()(const VectorWidth&) const { return {1, 0}; }
    Extent operator()(const Value::Values& values) const {
      Extent all{1, 0};
      for (const Value& one : values) {
        const Extent part = extent(one);
        all = {all.numbers + part.numbers, std::max(all.depth, part.depth)};
      }
      return {all.numbers, all.depth + 1};
    }
  };
  return std::visit(Measure{}, value.is);
}

// False where the value is no tiler.
bool add_tiler(const Value& value, Tiler::Modes& modes) {
  if (const auto* const layout = std::get_if<Layout>(&value.is)) {
    modes.emplace_back(*layout);
    return true;
  }
  if (const auto* const tuple = std::get_if<IntTuple>(&value.is)) {
    modes.emplace_back(tuple->view());
    return true;
  }
  const auto* const values = std::get_if<Value::Values>(&value.is);
  if (values == nullptr) return false;
  Tiler::Modes parts;
  for (const Value& one : *values)
    if (!add_tiler(one, parts)) return false;
  modes.emplace_back(std::move(parts));
  return true;
}

// The value with layouts alone where parts of it are swizzled to no effect.
Value unswizzled(const Value& value, const Layout& layout, Arguments::Change change) {
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&value.is))
    return std::holds_alternative<Layout>(change(layout, *swizzled)) ? Value{swizzled->layout} : value;
  const auto* const values = std::get_if<Value::Values>(&value.is);
  if (values == nullptr) return value;
  Value::Values parts = *values;
  for (std::size_t i = 0; i < parts.size() && i < layout.rank(); ++i)
    parts[i] = unswizzled(parts[i], layout.mode(i), change);
  return {std::move(parts)};
}

}  // namespace

std::string to_text(const Value& value) {
  struct Text {
    std::string operator()(const IntTuple& tuple) const { return to_text(tuple.view()); }
    std::string operator()(const Layout& layout) const { return to_text(layout); }
    std::string operator()(const SwizzledLayout& layout) const { return to_text(layout); }
    std::string operator()(const ComposedLayout& layout) const { return to_text(layout); }
    std::string operator()(const OffsetLayout& part) const { return to_text(part.layout); }
    std::string operator()(const Swizzle& swizzle) const { return to_text(swizzle); }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(const VectorWidth& width) const { return std::to_string(width.elements); }
    std::string operator()(const Value::Values& values) const {
      std::string out = "(";
      for (const Value& one : values) out += (out.size() > 1 ? "," : "") + to_text(one);
      return out + ")";
    }
  };
  return std::visit(Text{}, value.is);
}

std::string with_kind(const Value& value) {
  struct Kind {
    std::string_view operator()(const IntTuple& tuple) const { return tuple.is_tuple() ? "the tuple " : ""; }
    std::string_view operator()(const Layout&) const { return "the layout "; }
    std::string_view operator()(const SwizzledLayout&) const { return "the swizzled layout "; }
    std::string_view operator()(const ComposedLayout&) const { return "the composed layout "; }
    std::string_view operator()(const OffsetLayout&) const { return "the layout "; }
    std::string_view operator()(const Swizzle&) const { return "the swizzle "; }
    std::string_view operator()(bool) const { return "the truth value "; }
    std::string_view operator()(const VectorWidth&) const { return ""; }
    std::string_view operator()(const Value::Values&) const { return "the tuple "; }
  };
  return std::string(std::visit(Kind{}, value.is)) + to_text(value);
}

bool is_layout(const Value& value) {
  return std::holds_alternative<Layout>(value.is) || is_swizzled(value);
}

bool is_swizzled(const Value& value) {
  return std::holds_alternative<SwizzledLayout>(value.is) || std::holds_alternative<ComposedLayout>(value.is);
}

Value value_of(AnyLayout layout) {
  return std::visit([](auto& one) { return Value{std::move(one)}; }, layout);
}

Value value_of(Mapping mapping) {
  return std::visit([](auto& one) { return Value{std::move(one)}; }, mapping);
}

Value value_of(OffsetLayout part) {
  if (std::holds_alternative<ComposedLayout>(part.layout) && part.offset.is(0))
    return value_of(std::move(part.layout));
  return {std::move(part)};
}

std::optional<Mapping> mapping_in(const Value& value) {
  if (const auto* const layout = std::get_if<Layout>(&value.is)) return *layout;
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&value.is)) return *swizzled;
  if (const auto* const composed = std::get_if<ComposedLayout>(&value.is)) return *composed;
  if (const auto* const swizzle = std::get_if<Swizzle>(&value.is)) return *swizzle;
  return std::nullopt;
}

Value value_of(Integer number) {
  return {IntTuple(number)};
}

Value value_of(std::size_t number) {
  return {IntTuple(static_cast<std::int64_t>(number))};
}

Value bounded(Value value) {
  const Extent found = extent(value);
  if (found.numbers > kMostNumbers)
    refuse("layout: a value has at most {} numbers, found {}", kMostNumbers, found.numbers);
  if (found.depth > kDeepest)
    refuse("layout: a value has at most {} levels of parentheses, found {}", kDeepest, found.depth);
  return value;
}

Value joined(Value::Values values) {
  const bool numbers = std::all_of(values.begin(), values.end(),
                                   [](const Value& one) { return std::holds_alternative<IntTuple>(one.is); });
  if (!numbers) return {std::move(values)};
  TupleBuilder builder;
  builder.open();
  for (const Value& one : values) builder.add(std::get<IntTuple>(one.is));
  builder.close();
  return {builder.take()};
}

void Arguments::unexpected(std::size_t index, std::string_view expected) const {
  refuse("layout: argument {} of {}({}): expected {}, found {}", index + 1, function_.name,
         function_.parameters, expected, with_kind(values_[index]));
}

const IntTuple& Arguments::tuple(std::size_t index) const {
  if (const auto* const tuple = get_if<IntTuple>(index)) return *tuple;
  unexpected(index, "a number or a tuple of numbers");
}

Integer Arguments::integer(std::size_t index) const {
  const auto* const tuple = get_if<IntTuple>(index);
  if (tuple != nullptr && tuple->is_integer()) return tuple->integer();
  unexpected(index, "a number");
}

std::int64_t Arguments::number(std::size_t index) const {
  const auto* const tuple = get_if<IntTuple>(index);
  if (tuple != nullptr && tuple->is_integer() && tuple->integer().known()) return tuple->integer().value();
  unexpected(index, "a known number");
}

std::size_t Arguments::count(std::size_t index) const {
  const std::int64_t value = number(index);
  if (value < 0) unexpected(index, "0 or more");
  if (value > static_cast<std::int64_t>(kMostNumbers))
    unexpected(index, format_text("at most {}", kMostNumbers));
  return static_cast<std::size_t>(value);
}

std::size_t Arguments::end(std::size_t index, std::size_t rank) const {
  return number(index) == -1 ? rank : count(index);
}

Layout Arguments::layout(std::size_t index) const {
  if (const auto* const tuple = get_if<IntTuple>(index)) {
    if (has_underscore(*tuple)) unexpected(index, "a layout or a shape");
    return Layout(*tuple);
  }
  return plain_layout(index);
}

const Layout& Arguments::plain_layout(std::size_t index) const {
  if (const auto* const layout = get_if<Layout>(index)) return *layout;
  unexpected(index, is_swizzled(values_[index]) ? "a layout without a swizzle" : "a layout");
}

Mapping Arguments::mapping(std::size_t index) const {
  if (std::optional<Mapping> found = mapping_in(values_[index])) return *std::move(found);
  return layout(index);
}

Tiler Arguments::tiler(std::size_t index) const {
  Tiler::Modes one;
  if (add_tiler(values_[index], one)) return one.front();
  unexpected(index, "a layout, a number, _, or a tuple of these");
}

Tiler Arguments::tiler(std::size_t index, const Layout& layout, Change change) const {
  if (get_if<Value::Values>(index) == nullptr) return tiler(index);
  Tiler::Modes one;
  if (add_tiler(unswizzled(values_[index], layout, change), one)) return one.front();
  return tiler(index);
}

IntTuple Arguments::shape(std::size_t index) const {
  if (is_swizzled(values_[index])) return expect_domain(mapping(index)).shape();
  if (const auto* const layout = get_if<Layout>(index)) return layout->shape();
  if (const auto* const tuple = get_if<IntTuple>(index)) return *tuple;
  unexpected(index, "a layout or a tuple of numbers");
}

Value Arguments::mode_from(std::size_t first) const {
  Value value = values_[0];
  for (std::size_t i = first; i < size(); ++i) {
    const std::size_t mode = count(i);
    if (layout::is_layout(value)) {
      const Value whole[] = {std::move(value)};
      value = Arguments(function_, whole).behind_swizzle(0, [&](const Layout& layout) {
        return layout.mode(mode);
      });
    } else if (const auto* const values = std::get_if<Value::Values>(&value.is)) {
      if (mode >= values->size()) refuse("layout: {} has no mode {}", to_text(value), mode);
      value = Value((*values)[mode]);
    } else if (const auto* const tuple = std::get_if<IntTuple>(&value.is)) {
      value = {IntTuple((*tuple)[mode])};
    } else {
      unexpected(0, "a layout or a tuple");
    }
  }
  return value;
}

}  // namespace gpuforge::layout
