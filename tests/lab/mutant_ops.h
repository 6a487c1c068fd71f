// The kernels of mutants.cu as ops: each family has one reference and tolerance, which its right kernel and
// its broken ones are checked against.
#pragma once

#include <string>

#include "gpuforge/lab/op.h"

namespace gpuforge::lab_tests {

// "affine_right", "row_sum_lacks_a_barrier": the family is what the name begins with.
lab::Op mutant_op(const std::string& kernel);

}  // namespace gpuforge::lab_tests
