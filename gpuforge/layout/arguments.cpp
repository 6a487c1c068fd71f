#include "gpuforge/layout/arguments.h"

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

[[noreturn]] void unexpected(std::string_view expected, const Value& found) {
  refuse("layout: expected {}, found {}", expected, to_text(found));
}

}  // namespace

std::string to_text(const Value& value) {
  struct Text {
    std::string operator()(const IntTuple& tuple) const { return to_text(tuple.view()); }
    std::string operator()(const Layout& layout) const { return to_text(layout); }
    std::string operator()(const SwizzledLayout& layout) const { return to_text(layout); }
    std::string operator()(const OffsetLayout& part) const { return to_text(part.layout); }
    std::string operator()(const Swizzle& swizzle) const { return to_text(swizzle); }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(const Value::Values& values) const {
      std::string out = "(";
      for (const Value& one : values) out += (out.size() > 1 ? "," : "") + to_text(one);
      return out + ")";
    }
  };
  return std::visit(Text{}, value.is);
}

const IntTuple& as_tuple(const Value& value) {
  if (const auto* const tuple = std::get_if<IntTuple>(&value.is)) return *tuple;
  unexpected("a number or a tuple of numbers", value);
}

std::int64_t as_number(const Value& value) {
  const auto* const tuple = std::get_if<IntTuple>(&value.is);
  if (tuple != nullptr && tuple->is_integer() && tuple->integer().known()) return tuple->integer().value();
  unexpected("a number", value);
}

std::size_t as_count(const Value& value) {
  const std::int64_t number = as_number(value);
  if (number < 0) unexpected("0 or more", value);
  return static_cast<std::size_t>(number);
}

Layout as_layout(const Value& value) {
  if (const auto* const tuple = std::get_if<IntTuple>(&value.is)) return Layout(*tuple);
  return as_plain_layout(value);
}

const Layout& as_plain_layout(const Value& value) {
  if (const auto* const layout = std::get_if<Layout>(&value.is)) return *layout;
  unexpected("a layout", value);
}

AnyLayout as_any_layout(const Value& value) {
  if (const auto* const layout = std::get_if<SwizzledLayout>(&value.is)) return *layout;
  return as_plain_layout(value);
}

Tiler as_tiler(const Value& value) {
  if (const auto* const layout = std::get_if<Layout>(&value.is)) return *layout;
  if (const auto* const tuple = std::get_if<IntTuple>(&value.is)) return Tiler(tuple->view());
  if (const auto* const values = std::get_if<Value::Values>(&value.is)) {
    Tiler::Modes modes;
    for (const Value& one : *values) modes.push_back(as_tiler(one));
    return modes;
  }
  unexpected("a layout, a number, _, or a tuple of these", value);
}

bool is_layout(const Value& value) {
  return std::holds_alternative<Layout>(value.is) || is_swizzled(value);
}

bool is_swizzled(const Value& value) {
  return std::holds_alternative<SwizzledLayout>(value.is);
}

Value value_of(AnyLayout layout) {
  return std::visit([](auto& one) { return Value{std::move(one)}; }, layout);
}

}  // namespace gpuforge::layout
