// Room ptx: the text of PTX. Lexer and parser turn it into a tree of values, the printer turns the tree into
// text. PTX of versions 6.0 to 9.x from NVRTC, nvcc, clang, Triton or a person. Not here: what an instruction
// means or whether its words make sense together (sim/).
#pragma once

#include "gpuforge/ptx/parser.h"
#include "gpuforge/ptx/printer.h"
#include "gpuforge/ptx/tree.h"
