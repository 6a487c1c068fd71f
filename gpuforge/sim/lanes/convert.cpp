// The rows of cvt; what they do is in convert_integer.cpp, convert_float.cpp and convert_narrow.cpp.
#include "gpuforge/sim/lanes/convert_types.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

constexpr OpcodeRow kRows[] = {
    {"cvt[.sat](.u8|.s8|.u16|.s16|.u32|.s32|.u64|.s64)(.u8|.s8|.u16|.s16|.u32|.s32|.u64|.s64) d:x, a:x",
     OpClass::conversion, bind_integer_to_integer},
    {"cvt(.rni|.rzi|.rmi|.rpi)[.ftz][.sat](.u8|.s8|.u16|.s16|.u32|.s32|.u64|.s64)(.f16|.bf16|.f32|.f64) "
     "d:x, a:t",
     OpClass::conversion, bind_float_to_integer,
     "clamps; NaN gives 0, but 1 << (bits - 1) from f64 or to 64 bits"},
    {"cvt(.rn|.rz|.rm|.rp)[.ftz][.sat](.f16|.bf16|.f32|.f64)(.u8|.s8|.u16|.s16|.u32|.s32|.u64|.s64) "
     "d:s, a:x",
     OpClass::conversion, bind_integer_to_float},
    {"cvt[.rni|.rzi|.rmi|.rpi|.rn|.rz|.rm|.rp][.ftz][.sat](.f16|.bf16|.f32|.f64)(.f16|.bf16|.f32|.f64) "
     "d:s, a:t",
     OpClass::conversion, bind_float_to_float, "an integer rounding only within a type"},
    {"cvt(.rn|.rz)[.relu][.satfinite](.f16|.bf16).f32 d:s, a:t", OpClass::conversion, bind_narrowing},
    {"cvt(.rn|.rz)[.relu][.satfinite](.f16x2|.bf16x2).f32 d:u32, a:t, b:t", OpClass::conversion,
     bind_packed_half, "a goes to the upper half"},
    {"cvt(.rna|.rn|.rz)[.satfinite][.relu].tf32.f32 d:u32, a:t", OpClass::conversion, bind_tensor_float},
    {"cvt(.rn|.rz)[.relu][.satfinite].tf32.f32 d:u32, a:t", OpClass::conversion, bind_tensor_float},
    {"cvt.rn.satfinite[.relu](.e4m3x2|.e5m2x2|.e2m3x2|.e3m2x2).f32 d:u16, a:t, b:t", OpClass::conversion,
     bind_to_narrow_pair, "a goes to the upper half"},
    {"cvt.rn.satfinite[.relu].e2m1x2.f32 d:x, a:t, b:t", OpClass::conversion, bind_to_narrow_pair,
     "a goes to the upper half"},
    {"cvt.rn.satfinite[.relu](.e4m3x2|.e5m2x2).f16x2 d:u16, a:t", OpClass::conversion, bind_to_narrow_pair},
    {"cvt.rn[.relu].f16x2(.e4m3x2|.e5m2x2|.e2m3x2|.e3m2x2) d:u32, a:u16", OpClass::conversion,
     bind_from_narrow_pair},
    {"cvt.rn[.relu].f16x2.e2m1x2 d:u32, a:x", OpClass::conversion, bind_from_narrow_pair},
    {"cvt(.rz|.rp)[.satfinite].ue8m0x2.f32 d:u16, a:t, b:t", OpClass::conversion, bind_to_exponents,
     "a goes to the upper half; signs are dropped"},
    {"cvt(.rz|.rp)[.satfinite].ue8m0x2.bf16x2 d:u16, a:t", OpClass::conversion, bind_to_exponents,
     "signs are dropped"},
    {"cvt.rn.bf16x2.ue8m0x2 d:u32, a:u16", OpClass::conversion, bind_from_exponents},
    {"cvt.pack.sat(.u16|.s16).s32 d:u32, a:u32, b:u32", OpClass::conversion, bind_pack},
    {"cvt.pack.sat(.u8|.s8|.u4|.s4|.u2|.s2).s32.b32 d:u32, a:u32, b:u32, c:u32", OpClass::conversion,
     bind_pack},
};

}  // namespace

std::span<const OpcodeRow> convert_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
