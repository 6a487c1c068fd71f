// The functions on modes where what they are given is no layout: tuples of numbers, of layouts, or of both.
// As in CuTe, what is no tuple counts as one of one element in most of them. Not installed.
#pragma once

#include "gpuforge/layout/arguments.h"

namespace gpuforge::layout {

bool is_tuple(const Value& value);
Value::Values elements(const Value& value);  // of what is no tuple: itself

Value take(const Value& value, std::size_t begin, std::size_t end);
Value select(const Value& value, std::span<const std::size_t> which);
// `element` before or after the others: once, or as often as it takes to have that rank.
enum class Side { front, back };
Value extended(const Value& value, Side side, const Value& element);
Value extended(const Value& value, Side side, std::size_t rank, const Value& element);
Value replace(const Value& value, std::size_t index, const Value& element);
Value group(const Value& value, std::size_t begin, std::size_t end);
Value zip(const Value& value);
Value zip(const Value& a, const Value& b);
Value flatten(const Value& value);
Value unflatten(const Value& value, TupleView profile);

Value shape(const Value& value);
std::size_t rank(const Value& value);
std::size_t depth(const Value& value);

}  // namespace gpuforge::layout
