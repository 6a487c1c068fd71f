// The whole opcode table: one span of rows per family, each in a file of lanes/ (or beside the executor for
// what steers it).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/sim/opcode.h"

namespace gpuforge::sim {

// lanes/
std::span<const OpcodeRow> integer_rows();  // add sub mul mad div rem abs neg min max sad mul24 dp4a dp2a ...
std::span<const OpcodeRow> video_rows();    // vadd4 vsub2 vabsdiff4 vset2 ...
std::span<const OpcodeRow>
logic_rows();  // and or xor not cnot shl shr shf lop3 prmt bfe bfi bfind brev clz ...
std::span<const OpcodeRow> carry_rows();    // add.cc addc sub.cc subc mad.cc madc
std::span<const OpcodeRow> compare_rows();  // setp set selp slct testp, min/max excluded
std::span<const OpcodeRow> move_rows();     // mov (pack and unpack too), cvta, isspacep, pred logic
std::span<const OpcodeRow> float32_rows();  // add sub mul fma mad div rcp sqrt rsqrt sin cos ... of f32
std::span<const OpcodeRow> float64_rows();
std::span<const OpcodeRow> half_rows();        // f16, f16x2, bf16, bf16x2, mixed precision
std::span<const OpcodeRow> convert_rows();     // cvt, every pair of types; fp8 and packed forms
std::span<const OpcodeRow> load_store_rows();  // ld ldu st, prefetch and what is accepted and does nothing
std::span<const OpcodeRow> atomic_rows();      // atom red
// beside the executor
std::span<const OpcodeRow> warp_rows();        // shfl vote match redux activemask elect bar.warp.sync
std::span<const OpcodeRow> barrier_rows();     // bar barrier
std::span<const OpcodeRow> mbarrier_rows();    // mbarrier
std::span<const OpcodeRow> cluster_rows();     // barrier.cluster mapa getctarank
std::span<const OpcodeRow> async_copy_rows();  // st.async, cp.async.bulk to shared memory
std::span<const OpcodeRow> control_rows();     // bra brx call ret exit alloca trap, fence membar, nanosleep

std::vector<std::span<const OpcodeRow>> opcode_families();
// The table as docs/sim.md has it.
std::string opcode_table_text();

}  // namespace gpuforge::sim
