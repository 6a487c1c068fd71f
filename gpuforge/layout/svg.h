// Text of an SVG picture: elements in the order they are drawn, numbers with at most one decimal. Not
// installed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/layout/colour.h"

namespace gpuforge::layout {

std::string escape_xml(std::string_view text);
// How wide text is at most, in any of the fonts the picture may be shown in.
double text_width(std::string_view text, double size);
// At spaces where there are some, after commas where not.
std::vector<std::string> wrapped(std::string_view text, double size, double width);

enum class Align { start, middle, end };

struct TextStyle {
  double size = 11;
  Colour colour = kInk;
  Align align = Align::start;
  bool bold = false;

  friend auto operator<=>(const TextStyle&, const TextStyle&) = default;
};

class SvgWriter {
 public:
  // Text elements inside have this style.
  void open_text(const TextStyle& style);
  void open_shapes(std::string_view name, std::string_view attributes);
  void close();
  void rectangle(double x, double y, double width, double height, std::string_view tip = {});
  void rectangle(double x, double y, double width, double height, Colour fill);
  void text(double x, double y, std::string_view text);
  void text(double x, double y, std::string_view text, const TextStyle& style);
  // "M1 2H3V4"; drawn as they come.
  void path(std::string_view steps, Colour stroke, double width);

  std::string take(double width, double height, std::string_view title);

 private:
  std::string body_;
};

std::string number_text(double value);  // "12", "12.5"

}  // namespace gpuforge::layout
