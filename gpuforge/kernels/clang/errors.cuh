// The error function, its complement and what is made of them: their inverses and the normal distribution.
// Part of the prelude for clang.
#pragma once

namespace gpuforge_clang {

// e^(x^2) erfc(x) for x >= 0. Times 1 + 2x it is smooth in t = (x - 3) / (x + 3): this is its Chebyshev
// interpolation in t, written out in powers.
GPUFORGE_CORE double scaled_complement(double x) {
  constexpr double kPowers[25] = {
      1.2530080582697296,     -0.13562110612458117,    -0.0475622943534492,     0.1296451587027594,
      -0.1192736634153864,    0.06830802734400991,     -0.02377051491717126,    0.0025293918156938143,
      0.001888690344998395,   -0.0007798322696532523,  -0.0001051597195798657,  0.00012509934245381603,
      4.949196632656283e-06,  -2.0100542256213067e-05, -7.308281042851623e-07,  3.4723709232581143e-06,
      3.557607971705054e-07,  -6.166011211550788e-07,  -1.4047646811767974e-07, 1.0183618819917251e-07,
      4.1063962565982655e-08, -1.33129123960558e-08,   -8.21757512077223e-09,   9.862520688229688e-10,
      8.393700912773822e-10};
  if (x > 1e15) return 0.5641895835477563 / x;
  const double t = (x - 3.0) / (x + 3.0);
  double sum = kPowers[24];
  for (int i = 23; i >= 0; --i) sum = __builtin_fma(sum, t, kPowers[i]);
  return sum / __builtin_fma(2.0, x, 1.0);
}

// e^-(x + low)^2, low being a small correction of x.
GPUFORGE_CORE double bell(double x, double low = 0.0) {
  const double square = x * x;
  return exponential(-square, -(__builtin_fma(x, x, -square) + 2.0 * x * low));
}

// erf by its series, for |x| < 1.
GPUFORGE_CORE double error_near(double x) {
  const double square = x * x;
  double term = 1.0;
  double sum = 0.0;
  for (int k = 1; k < 22; ++k) {
    term *= -square / k;
    sum += term / (2 * k + 1);
  }
  const double part = __builtin_fma(sum, 1.1283791670955126, 1.533545961316588e-17);
  return __builtin_fma(x, 1.1283791670955126, x * part);
}

// erfc(x + low) for x >= 1/2.
GPUFORGE_CORE double complement_far(double x, double low = 0.0) {
  return x > 28.0 ? 0.0 : scaled_complement(x) * bell(x, low);
}
GPUFORGE_CORE double error_function(double x) {
  const double size = __builtin_fabs(x);
  if (!(size >= 1.0)) return x != x ? x : error_near(x);
  return __builtin_copysign(1.0 - complement_far(size), x);
}
GPUFORGE_CORE double error_complement(double x) {
  if (x != x) return x;
  if (x >= 0.5) return complement_far(x);
  return x > -1.0 ? 1.0 - error_near(x) : 2.0 - complement_far(-x);
}
GPUFORGE_CORE double error_complement_scaled(double x) {
  if (x != x) return x;
  if (x >= 0.5) return scaled_complement(x);
  if (x < -27.0) return kInfinity;
  const double square = x * x;
  return exponential(square, __builtin_fma(x, x, -square)) * error_complement(x);
}

// The y > 0 with erfc(y) = rest, for 0 < rest < 1; erf(y) = part where that is the more exact of the two.
// Winitzki's estimate, then Halley's steps.
GPUFORGE_CORE double inverse_of_errors(double part, double rest) {
  const bool near = part < 0.5;
  const double log = near ? logarithm_of_one_plus(-part * part) : logarithm(rest) + logarithm(2.0 - rest);
  const double half = 4.330746750799873 + 0.5 * log;  // 2 / (0.147 pi)
  double y = __builtin_sqrt(__builtin_sqrt(half * half - log * (1.0 / 0.147)) - half);
  if (near && part < 1e-4) y = part * 0.8862269254527580;
  for (int step = 0; step < 4; ++step) {
    // The difference over the slope, -2/sqrt(pi) e^(-y^2). Far out the two halves of e^(y^2) stay in range.
    const double square = y * y;
    const double half_bell = exponential(0.5 * square, 0.5 * __builtin_fma(y, y, -square));
    const double miss = near ? (error_near(y) - part) * half_bell * half_bell * 0.8862269254527580
                             : (rest * half_bell * half_bell - scaled_complement(y)) * 0.8862269254527580;
    y -= miss / (1.0 + y * miss);
  }
  return y;
}
GPUFORGE_CORE double inverse_error(double x) {
  const double size = __builtin_fabs(x);
  if (!(size < 1.0)) return size == 1.0 ? __builtin_copysign(kInfinity, x) : __builtin_nan("");
  if (size < 1e-10) return x * 0.8862269254527580;
  return __builtin_copysign(inverse_of_errors(size, 1.0 - size), x);
}
GPUFORGE_CORE double inverse_complement(double x) {
  if (!(x > 0.0 && x < 2.0)) {
    if (x == 0.0) return kInfinity;
    return x == 2.0 ? -kInfinity : __builtin_nan("");
  }
  if (x == 1.0) return 0.0;
  return x < 1.0 ? inverse_of_errors(1.0 - x, x) : -inverse_of_errors(x - 1.0, 2.0 - x);
}

GPUFORGE_CORE double normal_share(double x) {
  if (x != x) return x;
  const double high = -x * 0x1.6a09e667f3bcdp-1;
  const double low = __builtin_fma(-x, 0x1.6a09e667f3bcdp-1, -high) + x * 0x1.bdd3413b26456p-55;
  return 0.5 * (high >= 0.5 ? complement_far(high, low) : error_complement(high));
}
GPUFORGE_CORE double normal_quantile(double x) {
  return -1.4142135623730951 * inverse_complement(2.0 * x);
}

}  // namespace gpuforge_clang
