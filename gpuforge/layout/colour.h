// Colours of pictures, chosen so that text on them can be read. Not installed.
#pragma once

#include <cstdint>
#include <string>

namespace gpuforge::layout {

struct Colour {
  std::uint8_t red = 255;
  std::uint8_t green = 255;
  std::uint8_t blue = 255;

  friend auto operator<=>(const Colour&, const Colour&) = default;
};

inline constexpr Colour kInk = {28, 32, 38};
inline constexpr Colour kQuietInk = {92, 98, 108};
inline constexpr Colour kPaper = {255, 255, 255};
inline constexpr Colour kIdleCell = {243, 244, 246};  // no one accesses it
inline constexpr Colour kAlarm = {200, 24, 24};

std::string to_text(Colour colour);  // "#1c2026"
// Of a part in 1000 of `to`.
Colour mixed(Colour from, Colour to, std::int64_t thousandths);
// WCAG's contrast ratio, 1 to 21; 4.5 is enough for text.
double contrast(Colour a, Colour b);
// Dark or white, whichever reads better.
Colour text_on(Colour background);

// From light to dark in steps of even lightness: `position` of `last`.
Colour ramp(std::int64_t position, std::int64_t last);
// Eight hues in turn. Neighbours in a row differ, and mostly those of the rows around as well.
Colour thread_colour(std::int64_t thread);
// A hue for every 16 bytes, a shade for every 4.
Colour bank_colour(std::int64_t bank);
inline constexpr int kHues = 8;
Colour hue(std::int64_t number);

}  // namespace gpuforge::layout
