// What clang gets for <device_launch_parameters.h>: all of it that device code uses is built in.
#pragma once
