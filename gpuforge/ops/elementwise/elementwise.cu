// One function of functions.cuh over its inputs: elementwise_run and elementwise_walk of elementwise.cuh with
// a Call for Body. The bytes of every operand once, and one evaluation an element.
#include "gpuforge/ops/elementwise/elementwise.cuh"
