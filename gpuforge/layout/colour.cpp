#include "gpuforge/layout/colour.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gpuforge/base/format.h"

namespace gpuforge::layout {
namespace {

// Lightness falls evenly from pale yellow over green and blue to a dark violet.
constexpr std::array kRamp = {Colour{253, 247, 200}, Colour{205, 232, 170}, Colour{136, 209, 168},
                              Colour{76, 180, 178},  Colour{52, 145, 181},  Colour{62, 107, 172},
                              Colour{76, 67, 147},   Colour{66, 26, 98}};

constexpr std::array<Colour, kHues> kHue = {
    Colour{150, 190, 244}, Colour{249, 186, 122}, Colour{150, 214, 150}, Colour{245, 156, 156},
    Colour{196, 170, 240}, Colour{240, 220, 110}, Colour{122, 212, 208}, Colour{242, 168, 214}};

constexpr Colour kBlack = {0, 0, 0};

double linear(std::uint8_t part) {
  const double value = part / 255.0;
  return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double luminance(Colour colour) {
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

std::uint8_t mixed_part(std::uint8_t from, std::uint8_t to, std::int64_t thousandths) {
  return static_cast<std::uint8_t>((from * (1000 - thousandths) + to * thousandths + 500) / 1000);
}

}  // namespace

std::string to_text(Colour colour) {
  return format_text("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

Colour mixed(Colour from, Colour to, std::int64_t thousandths) {
  return {mixed_part(from.red, to.red, thousandths), mixed_part(from.green, to.green, thousandths),
          mixed_part(from.blue, to.blue, thousandths)};
}

double contrast(Colour a, Colour b) {
  const double one = luminance(a) + 0.05, other = luminance(b) + 0.05;
  return std::max(one, other) / std::min(one, other);
}

Colour text_on(Colour background) {
  // Two colours of text alone: a third looks like bold numbers among the others.
  return contrast(background, kBlack) >= contrast(background, kPaper) ? kBlack : kPaper;
}

Colour ramp(std::int64_t position, std::int64_t last) {
  if (last <= 0) return kRamp[1];
  constexpr std::int64_t kSteps = kRamp.size() - 1;
  // Small layouts use small steps, so that two cells are not black and white.
  const std::int64_t whole = std::max<std::int64_t>(last, 12);
  const std::int64_t scaled = static_cast<std::int64_t>(
      1000.0 * static_cast<double>(kSteps) * static_cast<double>(position) / static_cast<double>(whole));
  const std::int64_t step = std::clamp<std::int64_t>(scaled / 1000, 0, kSteps - 1);
  return mixed(kRamp[static_cast<std::size_t>(step)], kRamp[static_cast<std::size_t>(step) + 1],
               std::min<std::int64_t>(scaled - step * 1000, 1000));
}

Colour hue(std::int64_t number) {
  return kHue[static_cast<std::size_t>(((number % kHues) + kHues) % kHues)];
}

Colour thread_colour(std::int64_t thread) {
  // Threads 8, 16, 32, ... apart, which often lie below each other, differ too.
  return hue(thread + thread / 8 + thread / 64 + thread / 512);
}

Colour bank_colour(std::int64_t bank) {
  return mixed(hue(bank / 4), kPaper, 150 * (bank % 4));
}

}  // namespace gpuforge::layout
