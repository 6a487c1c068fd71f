// The gamma function and its logarithm in double precision. Part of the prelude for clang.
#pragma once

namespace gpuforge_clang {

// ln gamma(2 + z) for |z| <= 1/2: (1 - Euler's constant) z and the sum of (zeta(k) - 1) (-z)^k / k.
GPUFORGE_CORE double log_gamma_near_two(double z) {
  constexpr double kPowers[26] = {
      0.3224670334241132,     -0.0673523010531981,     0.020580808427784546,   -0.007385551028673986,
      0.0028905103307415234,  -0.001192753911703261,   0.0005096695247430425,  -0.00022315475845357939,
      9.945751278180853e-05,  -4.492623673813314e-05,  2.050721277567069e-05,  -9.439488275268397e-06,
      4.374866789907488e-06,  -2.039215753801366e-06,  9.55141213040742e-07,   -4.492469198764566e-07,
      2.1207184805554665e-07, -1.0043224823968099e-07, 4.7698101693639804e-08, -2.2711094608943164e-08,
      1.0838659214896955e-08, -5.183475041970047e-09,  2.4836745438024785e-09, -1.1921401405860912e-09,
      5.731367241678862e-10,  -2.7595228851242334e-10};
  double sum = kPowers[25];
  for (int i = 24; i >= 0; --i) sum = __builtin_fma(sum, z, kPowers[i]);
  return z * __builtin_fma(sum, z, 0.42278433509846713);
}

// ln gamma(x) for x >= 12, by Stirling's series.
GPUFORGE_CORE Sum log_gamma_far(double x) {
  const double one = 1.0 / x;
  const double z = one * one;
  double sum = -0.029550653594771242;
  sum = __builtin_fma(sum, z, 0.00641025641025641);
  sum = __builtin_fma(sum, z, -0.0019175269175269176);
  sum = __builtin_fma(sum, z, 0.0008417508417508417);
  sum = __builtin_fma(sum, z, -0.0005952380952380953);
  sum = __builtin_fma(sum, z, 0.0007936507936507937);
  sum = __builtin_fma(sum, z, -0.002777777777777778);
  sum = __builtin_fma(sum, z, 0.08333333333333333);
  // (x - 1/2) ln x - x + ln(2 pi) / 2 + sum / x, with what each step rounds off.
  const Sum log = logarithm_sum(x);
  const double factor = x - 0.5;
  const double product = __dmul_rn(factor, log.high);  // not to be fused with the sum
  if (product == kInfinity) return {product, 0.0};
  const double product_low = __builtin_fma(factor, log.high, -product) + factor * log.low;
  const double high = product - x;
  const double low = ((product - high) - x) + product_low + __builtin_fma(sum, one, 0x1.d67f1c864beb5p-1);
  const double whole = high + low;
  return {whole, (high - whole) + low};
}

// x between -11 and 12 as x = base +- whole steps, 1.5 <= base <= 2.5: what gamma(base) is multiplied and
// divided by. No step rounds.
struct Steps {
  double base;
  double times;
  double over;
};
GPUFORGE_CORE Steps steps_to_two(double x) {
  Steps steps{x, 1.0, 1.0};
  while (steps.base > 2.5) {
    steps.base -= 1.0;
    steps.times *= steps.base;
  }
  while (steps.base < 1.5) {
    steps.over *= steps.base;
    steps.base += 1.0;
  }
  return steps;
}

GPUFORGE_CORE double gamma_function(double x) {
  if (x != x || x == kInfinity) return x;
  if (__builtin_fabs(x) < 1e-17) return 1.0 / x;
  if (x < 0.0 && __builtin_trunc(x) == x) return __builtin_nan("");  // -infinity too
  if (x >= 12.0) {
    const Sum log = log_gamma_far(x);
    return exponential(log.high, log.low);
  }
  if (x > -11.0) {
    const Steps steps = steps_to_two(x);
    return exponential(log_gamma_near_two(steps.base - 2.0)) * steps.times / steps.over;
  }
  const double reflected = 0x1.921fb54442d18p+1 / sine_of_half_turns(x);
  if (x < -200.0) return __builtin_copysign(0.0, reflected);
  // 1 - x may round: the slope of the logarithm there makes up for it.
  const double mirror = 1.0 - x;
  const double rounded = (1.0 - mirror) - x;
  const Sum log = log_gamma_far(mirror);
  const double size = exponential(-log.high, -log.low - rounded * logarithm(mirror));
  return reflected * size;
}

GPUFORGE_CORE double log_gamma_of_positive(double x) {
  if (x >= 12.0) {
    const Sum log = log_gamma_far(x);
    return log.high + log.low;
  }
  if (x < 1e-17) return -logarithm(x);
  if (x > 0.5 && x < 1.5) {  // the parts nearly cancel
    const Sum log = logarithm_sum(x);
    return (log_gamma_near_two(x - 1.0) - log.high) - log.low;
  }
  const Steps steps = steps_to_two(x);
  const double near = log_gamma_near_two(steps.base - 2.0);
  return x < 1.5 ? near - logarithm(steps.over) : near + logarithm(steps.times);
}
// Near its zeros between the negative whole numbers only the absolute error is small.
GPUFORGE_CORE double log_gamma(double x) {
  if (x != x) return x;
  const double size = __builtin_fabs(x);
  if (size == kInfinity) return kInfinity;
  if (x > 0.0) return log_gamma_of_positive(x);
  if (size < 1e-17) return -logarithm(size);
  if (__builtin_trunc(x) == x) return kInfinity;
  const double sine = __builtin_fabs(sine_of_half_turns(x));
  return logarithm(0x1.921fb54442d18p+1 / (sine * size)) - log_gamma_of_positive(size);
}

}  // namespace gpuforge_clang
