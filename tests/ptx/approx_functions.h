// The instructions whose results the manual bounds but does not fix: what each computes, how far a result may
// be from the exact value, and the inputs at which an H200's results are kept (approx_h200.txt).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::ptx_files {

struct FloatFormat {
  std::string_view name;  // of the list of inputs too
  int bits = 32;
  int precision = 24;  // of the mantissa, the leading one counted
  int least_exponent = -126;
  int unread_bits = 0;  // at the low end: not read from operands, zero in results
};

// The largest distance from the exact value.
struct Bound {
  enum class Kind : std::uint8_t { ulp, relative, absolute };
  Kind kind = Kind::ulp;
  long double size = 0;
};

struct ApproxFunction {
  std::string_view instruction;  // as PTX writes it
  const FloatFormat* format;
  int operands = 1;
  bool packed = false;  // two values in 32 bits
  bool ftz = false;
  long double (*exact)(long double a, long double b) = nullptr;
  // None where the manual promises nothing.
  std::optional<Bound> (*bound)(long double a, long double b) = nullptr;
  std::string_view source;  // of the bound
};

std::span<const ApproxFunction> approx_functions();

// The operands of a format's functions with so many operands, one after the other; always the same ones.
std::vector<std::uint64_t> approx_inputs(const FloatFormat& format, int operands);

// The value of `bits`; with `ftz`, a subnormal number's is a zero of its sign.
long double value_of(const FloatFormat& format, std::uint64_t bits, bool ftz);

// What is wrong with `result` at these operands, or nothing: beyond the bound, or a subnormal number where
// .ftz rules them out. Operands are values already flushed.
std::string beyond_bound(const ApproxFunction& function, std::span<const std::uint64_t> operands,
                         std::uint64_t result);
// The manual fixes the bits here: an operand or the result is zero, infinite or NaN, or was made so by .ftz.
bool is_special(const ApproxFunction& function, std::span<const std::uint64_t> operands);

}  // namespace gpuforge::ptx_files
