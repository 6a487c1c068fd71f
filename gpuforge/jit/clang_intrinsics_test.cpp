// Intrinsics: the prelude's give on the simulator, bit for bit, what NVRTC's own give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <span>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::jit {
namespace {

// Left out: functions that NVRTC makes of vabsdiff4, which the simulator does not know.
// Of words a, b, c; the same as int i, j, k; u, v of 64 bits and l, m the same signed; float y, double x.
constexpr const char* kExpressions[] = {
    "__clz(i)",
    "__clzll(l)",
    "__popc(a)",
    "__popcll(u)",
    "__ffs(i)",
    "__ffsll(l)",
    "__brev(a)",
    "__brevll(u)",
    "__byte_perm(a, b, c)",
    "__mulhi(i, j)",
    "__umulhi(a, b)",
    "__mul64hi(l, m)",
    "__umul64hi(u, v)",
    "__mul24(i, j)",
    "__umul24(a, b)",
    "__sad(i, j, c)",
    "__usad(a, b, c)",
    "__hadd(i, j)",
    "__rhadd(i, j)",
    "__uhadd(a, b)",
    "__urhadd(a, b)",
    "__funnelshift_l(a, b, c)",
    "__funnelshift_lc(a, b, c & 63)",
    "__funnelshift_r(a, b, c)",
    "__funnelshift_rc(a, b, c & 63)",
    "__dp4a(i, j, k)",
    "__dp4a(a, b, c)",
    "__dp2a_lo(i, j, k)",
    "__dp2a_lo(a, b, c)",
    "__dp2a_hi(i, j, k)",
    "__dp2a_hi(a, b, c)",
    "__dp4a(make_char4(a, b, c, a >> 8), make_char4(b, c, a, 7), k)",
    "__dp2a_lo(make_short2(a, b), make_char4(a, b, c, 1), k)",
    "__dp2a_hi(make_ushort2(a, b), make_uchar4(a, b, c, 1), c)",
    "min(i, j)",
    "max(i, b)",
    "min(a, j)",
    "max(l, m)",
    "min(l, v)",
    "max(u, m)",
    "min((long)l, (unsigned long)v)",
    "umin(a, b)",
    "umax(a, b)",
    "llmin(l, m)",
    "llmax(l, m)",
    "ullmin(u, v)",
    "ullmax(u, v)",
    "abs(i)",
    "labs(l)",
    "llabs(l)",
    "abs(l)",
    "__double2int_rn(x)",
    "__float2int_rd(y)",
    "__float2uint_ru(y)",
    "__float2ll_rz(y)",
    "__double2ull_rn(x)",
    "__double_as_longlong(__ll2double_rd(l))",
    "__float_as_int(__int2float_rz(i))",
    "__float_as_uint(__uint2float_ru(a))",
    "__float_as_int(__fadd_rd(y, 0.1f))",
    "__float_as_int(__fmul_ru(y, y))",
    "__float_as_int(__fdiv_rz(y, 3.0f))",
    "__float_as_int(__fsqrt_rd(fabsf(y)))",
    "__float_as_int(__fmaf_ru(y, y, 0.5f))",
    "__float_as_int(__fmaf_ieee_rn(y, y, 0.5f))",
    "__double_as_longlong(__fma_rd(x, x, 0.5))",
    "__double_as_longlong(__drcp_ru(x))",
    "__float_as_int(__saturatef(y))",
    "__float_as_int(__double2float_rd(x))",
    "__double2hiint(x)",
    "__double2loint(x)",
    "__double_as_longlong(__hiloint2double(i, j))",
    "isnan(y) + 2 * isinf(y) + 4 * isfinite(y) + 8 * signbit(y)",
    "isnan(x) + 2 * isinf(x) + 4 * isfinite(x) + 8 * signbit(x)",
    "llrintf(y)",
    "llrint(x)",
    "llroundf(y)",
    "llround(x)",
    "lround(x)",
    "ilogb(x)",
    "ilogbf(y)",
    "__shfl_sync(~0u, a, i)",
    "__shfl_up_sync(~0u, l, 3)",
    "__shfl_down_sync(~0u, i, 5, 16)",
    "__shfl_xor_sync(~0u, (long)l, 6, 8)",
    "__double_as_longlong(__shfl_xor_sync(~0u, (double)i, 6))",
    "__float_as_int(__shfl_sync(~0u, (float)i, j, 8))",
    "__ballot_sync(~0u, i > 0)",
    "__all_sync(~0u, i)",
    "__any_sync(~0u, i > j)",
    "__match_any_sync(~0u, i & 3)",
    "__match_any_sync(~0u, l & 1)",
    "__reduce_add_sync(~0u, a)",
    "__reduce_min_sync(~0u, i)",
    "__reduce_max_sync(~0u, a)",
    "__reduce_xor_sync(~0u, a)",
    "__fns(a, i & 31, 1 + (j & 3))",
    "warpSize",
    "__syncthreads_count(i > 0)",
    "std::move(i)",
    "sizeof(dim3) + alignof(float4) + sizeof(longlong3) + alignof(ulong2) + sizeof(double3)",
    "__vabs2(a)",
    "__vabsss2(a)",
    "__vneg2(a)",
    "__vneg4(a)",
    "__vnegss2(a)",
    "__vnegss4(a)",
    "__vadd2(a, b)",
    "__vadd4(a, b)",
    "__vaddss2(a, b)",
    "__vaddss4(a, b)",
    "__vaddus2(a, b)",
    "__vaddus4(a, b)",
    "__vsub2(a, b)",
    "__vsub4(a, b)",
    "__vsubss2(a, b)",
    "__vsubss4(a, b)",
    "__vsubus2(a, b)",
    "__vsubus4(a, b)",
    "__vabsdiffs2(a, b)",

    "__vabsdiffu2(a, b)",

    "__vavgs2(a, b)",
    "__vavgs4(a, b)",
    "__vavgu2(a, b)",
    "__vavgu4(a, b)",
    "__vhaddu2(a, b)",
    "__vhaddu4(a, b)",
    "__vmaxs2(a, b)",
    "__vmaxs4(a, b)",
    "__vmaxu2(a, b)",
    "__vmaxu4(a, b)",
    "__vmins2(a, b)",
    "__vmins4(a, b)",
    "__vminu2(a, b)",
    "__vminu4(a, b)",
    "__vsads2(a, b)",

    "__vcmpeq2(a, b)",
    "__vcmpeq4(a, b)",
    "__vcmpne2(a, b)",
    "__vcmpne4(a, b)",
    "__vcmplts2(a, b)",
    "__vcmplts4(a, b)",
    "__vcmpltu2(a, b)",
    "__vcmpltu4(a, b)",
    "__vcmples2(a, b)",
    "__vcmples4(a, b)",
    "__vcmpleu2(a, b)",
    "__vcmpleu4(a, b)",
    "__vcmpgts2(a, b)",
    "__vcmpgts4(a, b)",
    "__vcmpgtu2(a, b)",
    "__vcmpgtu4(a, b)",
    "__vcmpges2(a, b)",
    "__vcmpges4(a, b)",
    "__vcmpgeu2(a, b)",
    "__vcmpgeu4(a, b)",
    "__vseteq2(a, b)",
    "__vseteq4(a, b)",
    "__vsetne2(a, b)",
    "__vsetne4(a, b)",
    "__vsetlts2(a, b)",
    "__vsetlts4(a, b)",
    "__vsetltu2(a, b)",
    "__vsetltu4(a, b)",
    "__vsetles2(a, b)",
    "__vsetles4(a, b)",
    "__vsetleu2(a, b)",
    "__vsetleu4(a, b)",
    "__vsetgts2(a, b)",
    "__vsetgts4(a, b)",
    "__vsetgtu2(a, b)",
    "__vsetgtu4(a, b)",
    "__vsetges2(a, b)",
    "__vsetges4(a, b)",
    "__vsetgeu2(a, b)",
    "__vsetgeu4(a, b)",
    "__viaddmax_s16x2(a, b, c)",
    "__vimax3_s16x2(a, b, c)",
    "__viaddmax_u16x2(a, b, c)",
    "__vimax3_u16x2(a, b, c)",
    "__viaddmax_u32(a, b, c)",
    "__vimax3_u32(a, b, c)",
    "__viaddmax_s32(i, j, k)",
    "__vimax3_s32(i, j, k)",
    "__viaddmax_s32_relu(i, j, k)",
    "__vimax3_s32_relu(i, j, k)",
    "__vimax_s32_relu(i, j)",
    "__vibmax_s32(i, j, &p) + 2 * p",
    "__viaddmax_s16x2_relu(a, b, c)",
    "__vimax3_s16x2_relu(a, b, c)",
    "__vimax_s16x2_relu(a, b)",
    "__vibmax_u32(a, b, &p) + 2 * p",
    "__vibmax_s16x2(a, b, &p, &q) + 2 * p + 4 * q",
    "__vibmax_u16x2(a, b, &p, &q) + 2 * p + 4 * q",
    "__viaddmin_s16x2(a, b, c)",
    "__vimin3_s16x2(a, b, c)",
    "__viaddmin_u16x2(a, b, c)",
    "__vimin3_u16x2(a, b, c)",
    "__viaddmin_u32(a, b, c)",
    "__vimin3_u32(a, b, c)",
    "__viaddmin_s32(i, j, k)",
    "__vimin3_s32(i, j, k)",
    "__viaddmin_s32_relu(i, j, k)",
    "__vimin3_s32_relu(i, j, k)",
    "__vimin_s32_relu(i, j)",
    "__vibmin_s32(i, j, &p) + 2 * p",
    "__viaddmin_s16x2_relu(a, b, c)",
    "__vimin3_s16x2_relu(a, b, c)",
    "__vimin_s16x2_relu(a, b)",
    "__vibmin_u32(a, b, &p) + 2 * p",
    "__vibmin_s16x2(a, b, &p, &q) + 2 * p + 4 * q",
    "__vibmin_u16x2(a, b, &p, &q) + 2 * p + 4 * q",
};

// Of __half ha, hb, hc and __nv_bfloat16 ba, bb, bc, from the words' low bits, and of those above.
constexpr const char* kNarrow[] = {
    "__half_as_ushort(__hadd(ha, hb))",
    "__half_as_ushort(__hsub(ha, hb))",
    "__half_as_ushort(__hmul(ha, hb))",
    "__half_as_ushort(__hdiv(ha, hb))",
    "__half_as_ushort(__hfma(ha, hb, hc))",
    "__half_as_ushort(__hneg(ha))",
    "__half_as_ushort(__habs(ha))",
    "__half_as_ushort(__hmax(ha, hb))",
    "__half_as_ushort(__hmin(ha, hb))",
    "__half_as_ushort(ha + hb * hc)",
    "__half_as_ushort(ha / hc - hb)",
    "__half_as_ushort(-ha)",
    "__half_as_ushort(hsqrt(ha))",
    "__half_as_ushort(hrcp(ha))",
    "__half_as_ushort(hfloor(ha))",
    "__half_as_ushort(hceil(ha))",
    "__half_as_ushort(htrunc(ha))",
    "__half_as_ushort(hrint(ha))",
    "__half_as_ushort(__float2half(y))",
    "__half_as_ushort(__float2half_rz(y))",
    "__half_as_ushort(__double2half(x))",
    "__half_as_ushort(__int2half_rn(i))",
    "__half_as_ushort(__uint2half_rn(a))",
    "__half_as_ushort(__shfl_xor_sync(~0u, ha, 3))",
    "__half_as_ushort(__shfl_up_sync(~0u, ha, 2u, 8))",
    "__half_as_ushort(__low2half(__hfma2(__halves2half2(ha, hb), __half2half2(hc), __float2half2_rn(0.5f))))",
    "__half_as_ushort(__high2half(__hadd2(__floats2half2_rn(y, 2.0f), __halves2half2(ha, hb))))",
    "__heq(ha, hb) + 2 * __hlt(ha, hb) + 4 * __hge(ha, hb)",
    "(ha < hb) + 2 * (ha == hb) + 4 * (ha >= hb)",
    "__half2int_rz(ha)",
    "__half2int_rn(ha)",
    "__float_as_int(__half2float(ha))",
    "__hisnan(ha) + 2 * __hisinf(ha)",
    "__hbgt2(__halves2half2(ha, hb), __halves2half2(hb, hc))",
    "__bfloat16_as_ushort(__hadd(ba, bb))",
    "__bfloat16_as_ushort(__hsub(ba, bb))",
    "__bfloat16_as_ushort(__hmul(ba, bb))",
    "__bfloat16_as_ushort(__hdiv(ba, bb))",
    "__bfloat16_as_ushort(__hfma(ba, bb, bc))",
    "__bfloat16_as_ushort(__hneg(ba))",
    "__bfloat16_as_ushort(__habs(ba))",
    "__bfloat16_as_ushort(__hmax(ba, bb))",
    "__bfloat16_as_ushort(__hmin(ba, bb))",
    "__bfloat16_as_ushort(ba + bb * bc)",
    "__bfloat16_as_ushort(ba / bc - bb)",
    "__bfloat16_as_ushort(-ba)",
    "__bfloat16_as_ushort(hsqrt(ba))",
    "__bfloat16_as_ushort(hrcp(ba))",
    "__bfloat16_as_ushort(hfloor(ba))",
    "__bfloat16_as_ushort(hceil(ba))",
    "__bfloat16_as_ushort(htrunc(ba))",
    "__bfloat16_as_ushort(hrint(ba))",
    "__bfloat16_as_ushort(__float2bfloat16(y))",
    "__bfloat16_as_ushort(__float2bfloat16_rz(y))",
    "__bfloat16_as_ushort(__double2bfloat16(x))",
    "__bfloat16_as_ushort(__int2bfloat16_rn(i))",
    "__bfloat16_as_ushort(__uint2bfloat16_rn(a))",
    "__bfloat16_as_ushort(__shfl_xor_sync(~0u, ba, 3))",
    "__bfloat16_as_ushort(__shfl_up_sync(~0u, ba, 2u, 8))",
    "__bfloat16_as_ushort(__low2bfloat16(__hfma2(__halves2bfloat162(ba, bb), __bfloat162bfloat162(bc), "
    "__float2bfloat162_rn(0.5f))))",
    "__bfloat16_as_ushort(__high2bfloat16(__hadd2(__floats2bfloat162_rn(y, 2.0f), __halves2bfloat162(ba, "
    "bb))))",
    "__heq(ba, bb) + 2 * __hlt(ba, bb) + 4 * __hge(ba, bb)",
    "(ba < bb) + 2 * (ba == bb) + 4 * (ba >= bb)",
    "__bfloat162int_rz(ba)",
    "__bfloat162int_rn(ba)",
    "__float_as_int(__bfloat162float(ba))",
    "__hisnan(ba) + 2 * __hisinf(ba)",
    "__hbgt2(__halves2bfloat162(ba, bb), __halves2bfloat162(bb, bc))",
    "__half_as_ushort(__hadd_sat(ha, hb))",
    "__half_as_ushort(__float2half_ru(y))",
    "__half_as_ushort(__hfma_relu(ha, hb, hc))",
};

constexpr std::size_t kThreads = 512;

std::vector<std::uint64_t> words() {
  std::vector<std::uint64_t> all(3 * kThreads);
  std::mt19937_64 random(7);  // NOLINT: the same each time
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t word = random();
    constexpr std::uint64_t kEdges[] = {
        0, 1, ~std::uint64_t{0}, 0x8000000080000000, 0x7fff8000ffff0001, 0x80ff7f01};
    all[i] = i % 5 == 0 ? kEdges[word % std::size(kEdges)] : (i % 5 == 1 ? word % 64 : word);
  }
  return all;
}

std::vector<std::uint64_t> run(Jit& jit, const std::string& headers, const std::string& more,
                               std::span<const char* const> expressions) {
  std::string text =
      headers +
      "extern \"C\" __global__ void k(unsigned long long* out, const unsigned long long* in) {\n"
      "  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;\n"
      "  const unsigned long long u = in[3 * t], v = in[3 * t + 1];\n"
      "  const long long l = u, m = v;\n"
      "  const unsigned a = u, b = v, c = in[3 * t + 2];\n"
      "  int i = a, j = b, k = c;\n"
      "  const float y = __int_as_float(i); const double x = __longlong_as_double(l);\n"
      "  bool p = false, q = false;\n" +
      more;
  std::size_t number = 0;
  for (const char* const expression : expressions)
    text += "  out[n * " + std::to_string(number++) + " + t] = (unsigned long long)(" + expression + ");\n";
  text += "}\n";
  const auto device = device::make_sim_device();
  const auto stream = device->make_stream();
  const auto kernel = jit.kernel(KernelSource{.name = "intrinsics.cu", .text = text}, "k", *device);
  const std::vector<std::uint64_t> in = words();
  std::vector<std::uint64_t> out(kThreads * expressions.size());
  const device::Address from = device->allocate(in.size() * 8, *stream);
  const device::Address to = device->allocate(out.size() * 8, *stream);
  stream->copy_to_device(from, in.data(), in.size() * 8);
  (*kernel)({.grid = {kThreads / 64}, .block = {64}}, *stream, to, from);
  stream->copy_to_host(out.data(), to, out.size() * 8);
  stream->synchronize();
  return out;
}

class ClangIntrinsics : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_clang(options_.program_path.value_or("")))
      GTEST_SKIP() << "no clang 16 or newer with NVPTX on PATH";
    try {
      nvrtc_.compiler().version();
    } catch (const Error&) {
      GTEST_SKIP() << "no NVRTC to compare with";
    }
  }
  static JitOptions options(CompilerChoice choice) {
    JitOptions result;
    result.search = cuda::search_options(read_environment());
    result.program_path = read_environment().path;
    result.compiler = choice;
    return result;
  }
  void compare(const std::string& headers, const std::string& more,
               std::span<const char* const> expressions) {
    const std::vector<std::uint64_t> in = words(), wanted = run(nvrtc_, headers, more, expressions),
                                     found = run(clang_, headers, more, expressions);
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      for (std::size_t t = 0; t < kThreads; ++t) {
        const std::size_t at = i * kThreads + t;
        if (found[at] == wanted[at]) continue;
        ADD_FAILURE() << expressions[i] << " of " << std::hex << in[3 * t] << ", " << in[3 * t + 1] << ", "
                      << in[3 * t + 2] << " is " << found[at] << ", not " << wanted[at];
        break;
      }
    }
  }

  JitOptions options_ = options(CompilerChoice::nvrtc);
  Jit nvrtc_{options_, nullptr};
  Jit clang_{options(CompilerChoice::clang), nullptr};
};

TEST_F(ClangIntrinsics, GiveWhatNvrtcsGive) {
  compare("", "", kExpressions);
}

TEST_F(ClangIntrinsics, OfNarrowFloatsToo) {
  bool found = false;
  for (const auto& folder : toolkit_include_dirs(options_.search))
    found = found || std::filesystem::exists(folder / "cuda_fp16.h");
  if (!found) GTEST_SKIP() << "cuda_fp16.h is not on this machine: it comes with the CUDA toolkit";
  compare("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n",
          "  const half ha = __ushort_as_half(a), hb = __ushort_as_half(b), hc = __ushort_as_half(c);\n"
          "  const nv_bfloat16 ba = __ushort_as_bfloat16(a), bb = __ushort_as_bfloat16(b), bc = "
          "__ushort_as_bfloat16(c);\n",
          kNarrow);
}

}  // namespace
}  // namespace gpuforge::jit
