#include "gpuforge/base/half.h"

#include "gpuforge/base/narrow_float.h"

namespace gpuforge {

Half Half::from(double value) {
  return internal::narrow<Half>(value);
}
double Half::to_double() const {
  return internal::widen(*this);
}

BFloat16 BFloat16::from(double value) {
  return internal::narrow<BFloat16>(value);
}
double BFloat16::to_double() const {
  return internal::widen(*this);
}

Float8E4M3 Float8E4M3::from(double value) {
  return internal::narrow<Float8E4M3>(value);
}
double Float8E4M3::to_double() const {
  return internal::widen(*this);
}

Float8E5M2 Float8E5M2::from(double value) {
  return internal::narrow<Float8E5M2>(value);
}
double Float8E5M2::to_double() const {
  return internal::widen(*this);
}

}  // namespace gpuforge
