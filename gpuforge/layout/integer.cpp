#include "gpuforge/layout/integer.h"

#include <string>

#include "gpuforge/base/error.h"

namespace gpuforge::layout {

void throw_overflow(Integer a, char operation, Integer b) {
  throw Error(ErrorCode::invalid_argument,
              format_text("{} {} {} does not fit in 63 bits", a.value(), operation, b.value()));
}

void throw_by_zero(Integer a, char operation) {
  throw Error(ErrorCode::invalid_argument,
              format_text("{} {} 0 is not defined", a.known() ? std::to_string(a.value()) : "?", operation));
}

}  // namespace gpuforge::layout
