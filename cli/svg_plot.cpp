#include "cli/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gpuforge/base/format.h"

namespace gpuforge::cli {
namespace {

constexpr double kWidth = 720, kHeight = 400;
constexpr double kLeft = 70, kRight = 20, kTop = 34, kBottom = 50;
// Told apart by people who do not see all colours (Okabe and Ito).
constexpr std::array<std::string_view, 7> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#777777"};

struct Axis {
  double low = 0;
  double high = 1;
  bool log = false;
  double share(double value) const {
    return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
};

std::string tick_text(double value) {
  constexpr std::pair<double, std::string_view> kUnits[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  if (value < 1e5 && value == std::floor(value)) return format_text("{:.0f}", value);
  for (const auto& [size, unit] : kUnits) {
    if (value >= size) return format_text("{:.3g}{}", value / size, unit);
  }
  return format_text("{:.3g}", value);
}

// 1, 2 or 5 times a power of ten, about six of them; powers of ten on a logarithmic axis, or of two when it
// spans little.
std::vector<double> ticks(const Axis& axis) {
  std::vector<double> values;
  if (axis.log) {
    const double base = axis.high / axis.low > 1000 ? 10 : 2;
    double value = std::pow(base, std::ceil(std::log(axis.low) / std::log(base) - 1e-9));
    for (; value <= axis.high * 1.0001 && values.size() < 20; value *= base) values.push_back(value);
    return values;
  }
  const double rough = (axis.high - axis.low) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double step = rough / power > 5   ? 10 * power
                      : rough / power > 2 ? 5 * power
                      : rough / power > 1 ? 2 * power
                                          : power;
  for (int i = 0; i <= 20 && axis.low + i * step <= axis.high * 1.0001; ++i)
    values.push_back(axis.low + i * step);
  return values;
}

bool shows(const Plot& plot, const PlotPoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!plot.log_x || point.x > 0) &&
         (!plot.log_y || point.y > 0);
}

Axis axis_over(const std::vector<double>& values, bool log) {
  Axis axis{*std::min_element(values.begin(), values.end()), *std::max_element(values.begin(), values.end()),
            log};
  if (log) {
    axis.low /= 1.3;
    axis.high *= 1.3;
  } else {
    axis.low = std::min(axis.low, 0.0);
    axis.high = axis.high > axis.low ? axis.high * 1.08 : axis.low + 1;
  }
  return axis;
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string svg(const Plot& plot) {
  std::vector<double> xs, ys;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      if (!shows(plot, point)) continue;
      xs.push_back(point.x);
      ys.push_back(point.y);
    }
  }
  if (xs.empty()) return {};
  const Axis x = axis_over(xs, plot.log_x);
  const Axis y = axis_over(ys, plot.log_y);
  const auto at_x = [&](double value) { return kLeft + x.share(value) * (kWidth - kLeft - kRight); };
  const auto at_y = [&](double value) {
    return kHeight - kBottom - y.share(value) * (kHeight - kTop - kBottom);
  };

  std::string out = format_text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "role=\"img\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n<title>{2}</title>\n"
      "<text x=\"{3}\" y=\"20\" font-size=\"15\" font-weight=\"bold\">{2}</text>\n",
      kWidth, kHeight + 18.0 * static_cast<double>(plot.series.size()), escape_markup(plot.title), kLeft);
  for (const double value : ticks(x)) {
    out += format_text(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#8884\"/><text x=\"{0:.1f}\" "
        "y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        at_x(value), kTop, kHeight - kBottom, kHeight - kBottom + 16, tick_text(value));
  }
  for (const double value : ticks(y)) {
    out += format_text(
        "<line x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" stroke=\"#8884\"/><text x=\"{3}\" "
        "y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        at_y(value), kLeft, kWidth - kRight, kLeft - 6, at_y(value) + 4, tick_text(value));
  }
  out += format_text("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                     (kLeft + kWidth - kRight) / 2, kHeight - 12, escape_markup(plot.x_label));
  out += format_text("<text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     (kTop + kHeight - kBottom) / 2, escape_markup(plot.y_label));

  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    const std::string_view color = kColors[i % kColors.size()];
    const std::string_view dashes = series.dashed ? " stroke-dasharray=\"6 4\"" : "";
    std::string path;
    std::string dots;
    for (const PlotPoint& point : series.points) {
      if (!shows(plot, point)) continue;
      path += format_text("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", at_x(point.x), at_y(point.y));
      if (series.dashed) continue;
      dots +=
          format_text("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"><title>{}</title></circle>\n",
                      at_x(point.x), at_y(point.y), color, escape_markup(point.label));
    }
    if (series.line && !path.empty()) {
      out += format_text("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path, color,
                         dashes);
    }
    out += dots;
    const double legend = kHeight + 4 + 18.0 * static_cast<double>(i);
    out += format_text(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"{3}\" stroke-width=\"3\"{4}/><text "
        "x=\"{5}\" "
        "y=\"{6}\">{7}</text>\n",
        kLeft, kLeft + 26, legend, color, dashes, kLeft + 34, legend + 4, escape_markup(series.name));
  }
  return out + "</svg>\n";
}

}  // namespace gpuforge::cli
