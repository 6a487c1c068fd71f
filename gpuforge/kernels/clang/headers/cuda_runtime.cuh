// What clang gets for <cuda_runtime.h>: all of it that device code uses is built in.
#pragma once
