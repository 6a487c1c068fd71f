#include "gpuforge/layout/picture_frame.h"

#include <algorithm>

#include "gpuforge/base/format.h"

namespace gpuforge::layout {
namespace {

constexpr double kMargin = 24;
constexpr double kTitleSize = 15;
constexpr double kTextSize = 11;
constexpr double kSmallSize = 9;
constexpr double kBox = 18;        // of legends and charts
constexpr double kBoxLabels = 64;  // left of them

class FramePainter {
 public:
  FramePainter(SvgWriter& svg, double width) : svg_(svg), width_(width) {}
  double at() const { return y_; }
  void skip(double height) { y_ += height; }

  void paragraph(std::string_view text, const TextStyle& style) {
    for (const std::string& line : wrapped(text, style.size, width_)) {
      y_ += style.size * 1.35;
      svg_.text(kMargin, y_ - style.size * 0.25, line, style);
    }
  }

  void ramp_bar(std::int64_t least, std::int64_t most) {
    constexpr int kSteps = 64;
    const std::string from = format_text("index {}", least);
    const double x = kMargin + text_width(from, kTextSize) + 6;
    svg_.text(kMargin, y_ + 11, from, {kTextSize});
    for (int i = 0; i < kSteps; ++i)
      svg_.rectangle(x + i * 4, y_, 4.3, 14, ramp(bar_index(i, kSteps, most - least), most - least));
    svg_.text(x + kSteps * 4 + 8, y_ + 11, std::to_string(most), {kTextSize});
    y_ += 14;
  }

  void thread_boxes() {
    for (int i = 0; i < kHues; ++i) {
      svg_.rectangle(kMargin + i * (kBox + 10), y_, kBox + 10, 14, thread_colour(i));
      svg_.text(kMargin + (i + 0.5) * (kBox + 10), y_ + 10.5, format_text("T{}", i), centred(kSmallSize));
    }
    svg_.text(kMargin + kHues * (kBox + 10) + 8, y_ + 11, "eight colours in turn, by thread", {kTextSize});
    y_ += 14;
  }

  void bank_boxes() {
    svg_.text(kMargin, y_ + 13, "bank", {kTextSize});
    for (int bank = 0; bank < kBanks; ++bank) {
      const double x = kMargin + kBoxLabels + bank * kBox;
      svg_.rectangle(x, y_, kBox, kBox, bank_colour(bank));
      svg_.text(x + kBox / 2, y_ + 12.5, std::to_string(bank), centred(kSmallSize));
    }
    y_ += kBox;
  }

  // A row for every phase: how many words each bank has to give.
  void phase_rows(const SharedCost& cost) {
    for (const SharedPhase& phase : cost.phases) {
      y_ += 4;
      svg_.text(kMargin, y_ + 13,
                format_text("T{}-{}", phase.first_thread, phase.first_thread + phase.threads - 1),
                {kTextSize});
      for (int bank = 0; bank < kBanks; ++bank) {
        const std::int64_t words = phase.words[static_cast<unsigned>(bank)];
        const Colour fill = words == 0 ? kIdleCell
                            : words == 1
                                ? kCalm
                                : mixed(kWarm, kAlarm, std::min<std::int64_t>((words - 2) * 150, 1000));
        const double x = kMargin + kBoxLabels + bank * kBox;
        svg_.rectangle(x + 0.5, y_, kBox - 1, kBox, fill);
        if (words > 0)
          svg_.text(x + kBox / 2, y_ + 12.5, std::to_string(words),
                    {kSmallSize, text_on(fill), Align::middle});
      }
      svg_.text(kMargin + kBoxLabels + kBanks * kBox + 8, y_ + 13,
                format_text("{} wavefront{}", phase.wavefronts, phase.wavefronts == 1 ? "" : "s"),
                {kTextSize});
      y_ += kBox;
    }
  }

  void sector_boxes(const GlobalCost& cost) {
    double wide = 36;
    for (const GlobalSector& sector : cost.sectors)
      wide = std::max(wide, text_width(format_text("s{}", sector.number), kSmallSize) + 6);
    const auto in_row = static_cast<std::size_t>(std::clamp((width_ - kBoxLabels) / wide, 1.0, 16.0));
    for (std::size_t i = 0; i < cost.sectors.size(); ++i) {
      const auto column = static_cast<double>(i % in_row);
      const double x = kMargin + kBoxLabels + column * wide, y = y_ + static_cast<double>(i / in_row) * 34;
      const GlobalSector& sector = cost.sectors[i];
      svg_.rectangle(x + 1, y, wide - 2, kBox, kIdleCell);
      svg_.rectangle(x + 1, y, (wide - 2) * static_cast<double>(sector.bytes) / kSectorBytes, kBox,
                     thread_colour(static_cast<std::int64_t>(i)));
      svg_.text(x + wide / 2, y + 12.5, format_text("{} B", sector.bytes), centred(kSmallSize));
      svg_.text(x + wide / 2, y + kBox + 9, format_text("s{}", sector.number),
                {kSmallSize, kQuietInk, Align::middle});
    }
    svg_.text(kMargin, y_ + 13, "sectors", {kTextSize});
    y_ += 34 * static_cast<double>((cost.sectors.size() + in_row - 1) / in_row);
  }

 private:
  static constexpr Colour kCalm = {196, 226, 200};
  static constexpr Colour kWarm = {246, 190, 150};
  static TextStyle centred(double size) { return {size, kInk, Align::middle}; }
  static std::int64_t bar_index(int step, int steps, std::int64_t range) {
    return static_cast<std::int64_t>(static_cast<double>(range) * step / (steps - 1));
  }

  SvgWriter& svg_;
  double width_;
  double y_ = kMargin;
};

void draw_legend(FramePainter& painter, const Legend& legend) {
  switch (legend.kind) {
    case Legend::Kind::index:
      return painter.ramp_bar(legend.least, legend.most);
    case Legend::Kind::threads:
      return painter.thread_boxes();
    case Legend::Kind::banks:
      return painter.bank_boxes();
    case Legend::Kind::none:
      return;
  }
}

// What the legend or the chart needs.
double least_width(const Legend& legend, const WarpAccess* access) {
  if (access != nullptr) return 760;
  return legend.kind == Legend::Kind::banks ? kBoxLabels + kBanks * kBox : 430;
}

std::string chart_note(const WarpAccess& access) {
  if (access.global) return "Sectors of 32 bytes that move; coloured: bytes that were asked for.";
  return "A row is a phase: threads that are served together. Numbers: different words wanted from each "
         "bank; the "
         "largest is the number of wavefronts.";
}

}  // namespace

std::string framed(const Grid& grid, const Frame& frame, const WarpAccess* access) {
  SvgWriter svg;
  GridPlan plan(grid);
  const double inner = std::max(plan.width(), least_width(frame.legend, access));
  FramePainter painter(svg, inner);
  for (std::size_t i = 0; i < frame.titles.size(); ++i) {
    if (i == 0) {
      painter.paragraph(frame.titles[i], {kTitleSize, kInk, Align::start, true});
    } else {
      painter.paragraph(frame.titles[i], {kTextSize, kQuietInk});
    }
  }
  painter.skip(14);
  plan.move(kMargin, painter.at());
  plan.draw(svg);
  painter.skip(plan.height() + 18);
  draw_legend(painter, frame.legend);
  if (access != nullptr) {
    if (access->shared) painter.phase_rows(*access->shared);
    if (access->global) painter.sector_boxes(*access->global);
    painter.skip(8);
    const bool bad = !access->in_conflict.empty();
    painter.paragraph(access->sentence, {13, bad ? kAlarm : kInk, Align::start, true});
    painter.paragraph(chart_note(*access), {kTextSize, kQuietInk});
  } else {
    painter.skip(6);
  }
  for (const std::string& note : frame.legend.notes) painter.paragraph(note, {kTextSize, kQuietInk});
  if (!plan.has_text())
    painter.paragraph("Text in cells is left out: there are more than 128 cells a side.",
                      {kTextSize, kQuietInk});
  if (plan.has_lines())
    painter.paragraph(
        "The row is broken into lines: a cell's coordinate is the number at the side plus the one above.",
        {kTextSize, kQuietInk});
  else if (plan.has_panels())
    painter.paragraph("The grid is broken into panels; the numbers at their sides go on.",
                      {kTextSize, kQuietInk});
  return svg.take(inner + 2 * kMargin, painter.at() + kMargin, frame.titles.front());
}

}  // namespace gpuforge::layout
