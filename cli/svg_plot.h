// Points and lines over two axes, as SVG that stands alone.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuforge::cli {

struct PlotPoint {
  double x = 0;
  double y = 0;
  std::string label;  // shown when the pointer rests on it
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;
  bool line = true;     // joined in order
  bool dashed = false;  // a limit, not a measurement
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_x = false;
  bool log_y = false;  // else from 0
  std::vector<PlotSeries> series;
};

// Points that an axis cannot show (zero on a logarithmic one) are left out. Empty text when none is left.
std::string svg(const Plot& plot);

// & < > " as entities.
std::string escape_markup(std::string_view text);

}  // namespace gpuforge::cli
