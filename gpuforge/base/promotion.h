// The dtype in which elements of two dtypes meet: NumPy's table, with the narrow floats put into it by the
// same rule.
#pragma once

#include <span>

#include "gpuforge/base/dtype.h"

namespace gpuforge {

// The smallest dtype that holds every value of both: i16 + u8 is i16, u8 + i8 is i16, f16 + i8 is f16, f16 +
// i16 is f32, f32 + i32 is f64. As in NumPy, an i64 with any float is f64, which does not hold all of them.
// The narrow floats follow the rule: f16 + bf16 is f32, fp8 + f16 is f16, fp8 + bf16 is bf16, and the two
// fp8 types, or one of them with i8 or u8, meet in f16. bool holds 0 and 1, which every dtype does.
DType promote(DType a, DType b);

// What a number without an array is, as Python writes it: it takes the dtype of the arrays it meets where
// that has its kind (NumPy 2's rule, NEP 50).
enum class ScalarKind : std::uint8_t { boolean, integer, floating };

// Of all of these together. A scalar of a higher kind than the arrays brings NumPy's default of its kind: an
// integer makes i64 of bools, a float makes f64 of integers and bools. Scalars alone: bool, i64 or f64.
// Neither: invalid_argument.
DType promote(std::span<const DType> arrays, std::span<const ScalarKind> scalars);

// The float an integer or bool becomes where a function has only floats (exp, sqrt): f16 for bool, i8 and
// u8, f32 for i16, f64 for i32 and i64, as NumPy's; a float is itself.
DType floating_for(DType dtype);

// What NumPy calls casting='same_kind': bool to anything, integers to integers and floats, floats to floats.
bool can_cast_same_kind(DType from, DType to);

}  // namespace gpuforge
