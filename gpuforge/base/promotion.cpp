#include "gpuforge/base/promotion.h"

#include <algorithm>
#include <array>

namespace gpuforge {
namespace {

// What numbers a dtype holds: floats by their digits and exponents, integers by the bits of a magnitude.
struct Range {
  int digits;     // binary, of a significand or a magnitude
  int exponent;   // of the largest number
  int smallest;   // exponent of the smallest positive number
  bool negative;  // has numbers below zero
  bool has_fraction;
};

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {53, 1023, -1074, true, true};
    case DType::f32:
      return {24, 127, -149, true, true};
    case DType::f16:
      return {11, 15, -24, true, true};
    case DType::bf16:
      return {8, 127, -133, true, true};
    case DType::f8e4m3:
      return {4, 8, -9, true, true};
    case DType::f8e5m2:
      return {3, 15, -16, true, true};
    case DType::i64:
      return {63, 63, 0, true, false};
    case DType::i32:
      return {31, 31, 0, true, false};
    case DType::i16:
      return {15, 15, 0, true, false};
    case DType::i8:
      return {7, 7, 0, true, false};
    case DType::u8:
      return {8, 7, 0, false, false};
    case DType::boolean:
      return {1, 0, 0, false, false};
  }
  throw Error(ErrorCode::internal, "dtype: not a value of the enumeration");
}

bool holds(DType wide, DType narrow) {
  if (wide == narrow) return true;
  const Range w = range_of(wide), n = range_of(narrow);
  if (n.has_fraction && !w.has_fraction) return false;
  return w.digits >= n.digits && w.exponent >= n.exponent && w.smallest <= n.smallest &&
         (w.negative || !n.negative);
}

// Smallest first; of two sizes alike, the one that others meet in.
constexpr std::array kBySize = {DType::boolean, DType::u8,  DType::i8,  DType::f8e4m3,
                                DType::f8e5m2,  DType::i16, DType::f16, DType::bf16,
                                DType::i32,     DType::f32, DType::i64, DType::f64};

ScalarKind kind_of(DType dtype) {
  if (is_floating(dtype)) return ScalarKind::floating;
  return dtype == DType::boolean ? ScalarKind::boolean : ScalarKind::integer;
}

DType default_of(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::boolean:
      return DType::boolean;
    case ScalarKind::integer:
      return DType::i64;
    case ScalarKind::floating:
      return DType::f64;
  }
  throw Error(ErrorCode::internal, "promotion: not a value of the kind enumeration");
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  const bool floats = is_floating(a) || is_floating(b);
  for (const DType candidate : kBySize) {
    if (is_floating(candidate) != floats) continue;
    if (holds(candidate, a) && holds(candidate, b)) return candidate;
  }
  return DType::f64;
}

DType promote(std::span<const DType> arrays, std::span<const ScalarKind> scalars) {
  GPUFORGE_CHECK(!arrays.empty() || !scalars.empty(), "promote: an array or a number was expected");
  ScalarKind highest = ScalarKind::boolean;
  for (const ScalarKind kind : scalars) highest = std::max(highest, kind);
  if (arrays.empty()) return default_of(highest);
  DType result = arrays.front();
  for (const DType dtype : arrays) result = promote(result, dtype);
  return scalars.empty() || kind_of(result) >= highest ? result : default_of(highest);
}

DType floating_for(DType dtype) {
  if (is_floating(dtype)) return dtype;
  switch (dtype) {
    case DType::boolean:
    case DType::i8:
    case DType::u8:
      return DType::f16;
    case DType::i16:
      return DType::f32;
    default:
      return DType::f64;
  }
}

bool can_cast_same_kind(DType from, DType to) {
  return kind_of(from) <= kind_of(to);
}

}  // namespace gpuforge
