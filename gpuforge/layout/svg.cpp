#include "gpuforge/layout/svg.h"

#include <cmath>
#include <cstdint>

#include "gpuforge/base/format.h"

namespace gpuforge::layout {
namespace {

constexpr std::string_view kFonts =
    "system-ui, 'DejaVu Sans', 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, sans-serif";

std::string style_attributes(const TextStyle& style) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  return format_text("font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{}", number_text(style.size),
                     to_text(style.colour), kAnchors[static_cast<int>(style.align)],
                     style.bold ? " font-weight=\"bold\"" : "");
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += ' ';  // XML has no such characters
    } else {
      result += c;
    }
  }
  return result;
}

std::string number_text(double value) {
  const auto tenths = static_cast<std::int64_t>(std::llround(value * 10));
  std::string text = tenths < 0 ? "-" : "";
  text += std::to_string(std::abs(tenths) / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(std::abs(tenths) % 10);
  return text;
}

double text_width(std::string_view text, double size) {
  double widths = 0;  // of DejaVu Sans, the widest of the fonts
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      widths += 0.64;
    } else if (c == ',' || c == '.' || c == ' ' || c == ':') {
      widths += 0.34;
    } else if (c == '(' || c == ')') {
      widths += 0.4;
    } else if (c >= 'A' && c <= 'Z') {
      widths += c == 'M' || c == 'W' ? 0.95 : 0.7;
    } else {
      widths += c == 'm' || c == 'w' ? 0.95 : 0.62;
    }
  }
  return widths * size;
}

std::vector<std::string> wrapped(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  while (text_width(text, size) > width) {
    std::size_t fits = 1;
    while (fits < text.size() && text_width(text.substr(0, fits + 1), size) <= width) ++fits;
    std::size_t cut = text.rfind(' ', fits);
    if (cut == std::string_view::npos || cut < fits / 2) cut = text.rfind(',', fits - 1);
    if (cut == std::string_view::npos || cut < fits / 2) cut = fits - 1;
    lines.emplace_back(text.substr(0, cut + 1));
    text.remove_prefix(cut + 1);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

void SvgWriter::open_text(const TextStyle& style) {
  body_ += "<g " + style_attributes(style) + ">\n";
}

void SvgWriter::open_shapes(std::string_view name, std::string_view attributes) {
  body_ += format_text("<g class=\"{}\" {}>\n", name, attributes);
}

void SvgWriter::close() {
  body_ += "</g>\n";
}

void SvgWriter::rectangle(double x, double y, double width, double height, std::string_view tip) {
  body_ += format_text("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number_text(x), number_text(y),
                       number_text(width), number_text(height));
  body_ += tip.empty() ? "/>\n" : "><title>" + escape_xml(tip) + "</title></rect>\n";
}

void SvgWriter::rectangle(double x, double y, double width, double height, Colour fill) {
  body_ += format_text("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", number_text(x),
                       number_text(y), number_text(width), number_text(height), to_text(fill));
}

void SvgWriter::text(double x, double y, std::string_view text) {
  body_ +=
      format_text("<text x=\"{}\" y=\"{}\">{}</text>\n", number_text(x), number_text(y), escape_xml(text));
}

void SvgWriter::text(double x, double y, std::string_view text, const TextStyle& style) {
  body_ += format_text("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", number_text(x), number_text(y),
                       style_attributes(style), escape_xml(text));
}

void SvgWriter::path(std::string_view steps, Colour stroke, double width) {
  if (steps.empty()) return;
  body_ += format_text(
      "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"square\"/>\n", steps,
      to_text(stroke), number_text(width));
}

std::string SvgWriter::take(double width, double height, std::string_view title) {
  const std::string wide = number_text(std::ceil(width)), high = number_text(std::ceil(height));
  std::string text = format_text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" "
      "font-family=\"{}\" role=\"img\">\n<title>{}</title>\n",
      wide, high, wide, high, kFonts, escape_xml(title));
  text += format_text("<rect width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", wide, high, to_text(kPaper));
  text += body_;
  text += "</svg>\n";
  body_.clear();
  return text;
}

}  // namespace gpuforge::layout
