// Room base: what every room may use and nothing that knows about GPUs.
//   error, format     the one exception type, its two macros, message text
//   half, dtype, convert   element types and exact conversion between them
//   shape             shapes, strides and their arithmetic
//   hash, json, utf8, file, embedded   content hashes, JSON values, text repair, files, files compiled in
//   demangle          C++ names as people write them
//   log, environment, version    one sink, one table of environment variables
//   suggest           the nearest of the known names, for "did you mean"
// Not here: anything that names a device, a kernel or CUDA.
#pragma once

#include "gpuforge/base/convert.h"
#include "gpuforge/base/demangle.h"
#include "gpuforge/base/dtype.h"
#include "gpuforge/base/embedded.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/format.h"
#include "gpuforge/base/half.h"
#include "gpuforge/base/hash.h"
#include "gpuforge/base/json.h"
#include "gpuforge/base/log.h"
#include "gpuforge/base/shape.h"
#include "gpuforge/base/suggest.h"
#include "gpuforge/base/utf8.h"
#include "gpuforge/base/version.h"
