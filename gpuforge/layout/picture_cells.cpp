#include "gpuforge/layout/picture_cells.h"

#include <algorithm>
#include <limits>
#include <set>

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

constexpr std::int64_t kMostCells = 65536;

std::int64_t known_size(TupleView shape, std::string_view text) {
  const Integer size = product(shape);
  if (!size.known()) refuse("picture: {} has unknown sizes; bind their names to numbers", text);
  if (size.value() < 1) refuse("picture: {} has no elements", text);
  if (size.value() > kMostCells)
    refuse("picture: {} has {} elements, more than {}; draw a tile of it", text, size.value(), kMostCells);
  return size.value();
}

// Rows and columns for the modes of a shape, and what they are in words.
struct Sides {
  Axis rows;
  Axis columns;
  std::size_t split = 0;  // modes that are rows
};

Axis axis_of(TupleView shape, std::size_t begin, std::size_t end) {
  Axis axis;
  for (std::size_t i = begin; i < end; ++i) {
    const IntTuple flat = flatten(shape[i]);
    for (const TupleView element : flat.view()) {
      const std::int64_t extent = element.integer().value();
      if (extent > 1) axis.extents.push_back(extent);
      axis.size *= extent;
    }
  }
  return axis;
}

Sides sides_of(TupleView shape) {
  Sides best;
  const std::size_t rank = shape.rank();
  if (rank < 2) return {Axis{}, axis_of(shape, 0, rank), 0};
  double best_ratio = std::numeric_limits<double>::infinity();
  for (std::size_t split = 1; split < rank; ++split) {
    Sides sides{axis_of(shape, 0, split), axis_of(shape, split, rank), split};
    const auto rows = static_cast<double>(sides.rows.size), columns = static_cast<double>(sides.columns.size);
    const double ratio = std::max(rows / columns, columns / rows);
    if (ratio < best_ratio) {
      best = std::move(sides);
      best_ratio = ratio;
    }
  }
  return best;
}

std::string modes_text(std::size_t begin, std::size_t end, TupleView shape) {
  std::string text = end - begin == 1 ? "mode " : "modes ";
  text += std::to_string(begin);
  if (end - begin > 1) text += format_text(" to {}", end - 1);
  text += " = ";
  for (std::size_t i = begin; i < end; ++i) text += (i > begin ? " x " : "") + to_text(shape[i]);
  return text;
}

std::string sides_text(const Sides& sides, TupleView shape) {
  const std::size_t rank = shape.rank();
  std::string text = rank < 2 ? "Columns: the coordinate"
                              : "Rows: " + modes_text(0, sides.split, shape) +
                                    "; columns: " + modes_text(sides.split, rank, shape);
  text += ".";
  if (sides.rows.extents.size() > 1 || sides.columns.extents.size() > 1)
    text += " Thick lines: where an outer mode steps; bold numbers: its coordinate.";
  return text;
}

std::string_view plural(std::int64_t count) {
  return count == 1 ? "" : "s";
}

std::string coordinate_text(std::int64_t cell, TupleView shape) {
  return to_text(idx2crd(IntTuple(cell), shape));
}

}  // namespace

Draft draft_of(TupleView shape, const std::string& text, const PictureOptions& options) {
  const std::int64_t cells = known_size(shape, text);
  const Sides sides = sides_of(shape);
  Draft draft;
  draft.grid = {sides.rows, sides.columns, std::vector<Cell>(static_cast<std::size_t>(cells))};
  draft.frame.titles.push_back(options.title.empty() ? text : options.title);
  if (!options.title.empty() && options.title != text) draft.frame.titles.push_back("= " + text);
  draft.frame.titles.push_back(sides_text(sides, shape));
  return draft;
}

void fill_indices(Draft& draft, const Mapping& layout, TupleView shape) {
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < draft.grid.cells.size(); ++i)
    indices.push_back(index_at(static_cast<std::int64_t>(i), layout));
  const auto [least, most] = std::minmax_element(indices.begin(), indices.end());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Cell& cell = draft.grid.cells[i];
    cell.first = std::to_string(indices[i]);
    cell.fill = ramp(indices[i] - *least, *most - *least);
    cell.tip = format_text("{} -> {}", coordinate_text(static_cast<std::int64_t>(i), shape), indices[i]);
  }
  draft.frame.legend = {Legend::Kind::index, *least, *most, {}};
}

void fill_banks(Draft& draft, const Mapping& layout, std::int64_t bytes) {
  for (std::size_t i = 0; i < draft.grid.cells.size(); ++i) {
    Cell& cell = draft.grid.cells[i];
    const std::int64_t bank = bank_of(index_at(static_cast<std::int64_t>(i), layout) * bytes);
    cell.second = format_text("b{}", bank);
    cell.tip += format_text(", bank {}", bank);
    cell.fill = bank_colour(bank);
  }
  draft.frame.legend.kind = Legend::Kind::banks;
  const std::string word = bytes == 4       ? "index"
                           : 4 % bytes == 0 ? format_text("index / {}", 4 / bytes)
                           : bytes % 4 == 0 ? format_text("index * {}", bytes / 4)
                                            : format_text("index * {} / 4", bytes);
  draft.frame.legend.notes.push_back(
      format_text("Cells show index and bank (b) of shared memory, for elements of {} byte{}: {} % 32.",
                  bytes, plural(bytes), word));
}

void fill_threads(Draft& draft, const ThreadValueLayout& by, TupleView tile) {
  const Integer threads = size(by.tv.mode(0)), values = size(by.tv.mode(1));
  if (!threads.known() || !values.known())
    refuse("picture: {} has unknown sizes; bind their names to numbers", to_text(by.tv));
  if (threads.value() > kMostCells || values.value() > kMostCells ||
      threads.value() * values.value() > 4 * kMostCells)
    refuse("picture: {} has too many threads and values to draw", to_text(by.tv));
  std::vector<int> owners(draft.grid.cells.size());
  for (std::int64_t thread = 0; thread < threads.value(); ++thread) {
    for (std::int64_t value = 0; value < values.value(); ++value) {
      const Integer at = crd2idx(tuple({thread, value}), by.tv);
      if (!at.known()) refuse("picture: {} has unknown strides; bind their names to numbers", to_text(by.tv));
      if (at.value() < 0 || at.value() >= static_cast<std::int64_t>(owners.size()))
        refuse("picture: thread {}, value {} of {} is element {}, outside of the tile {}", thread, value,
               to_text(by.tv), at.value(), to_text(tile));
      Cell& cell = draft.grid.cells[static_cast<std::size_t>(at.value())];
      cell.tip += format_text("{}T{} V{}", cell.tip.empty() ? coordinate_text(at.value(), tile) + ": " : ", ",
                              thread, value);
      if (owners[static_cast<std::size_t>(at.value())]++ > 0) continue;
      cell.first = format_text("T{}", thread);
      cell.second = format_text("V{}", value);
      cell.fill = thread_colour(thread);
    }
  }
  const int most = *std::max_element(owners.begin(), owners.end());
  const int least = *std::min_element(owners.begin(), owners.end());
  std::vector<std::string>& notes = draft.frame.legend.notes;
  draft.frame.legend.kind = Legend::Kind::threads;
  notes.push_back(format_text("{} thread{} (T) with {} value{} (V) each over a tile of {}.", threads.value(),
                              plural(threads.value()), values.value(), plural(values.value()),
                              to_text(tile)));
  if (most > 1)
    notes.push_back(
        format_text("Up to {} threads and values have the same element: the first is shown, with +.", most));
  if (least == 0) notes.push_back("Empty cells belong to no thread.");
  for (std::size_t i = 0; i < owners.size(); ++i)
    if (owners[i] > 1) draft.grid.cells[i].first += "+";
}

void fill_access(Draft& draft, const WarpAccess& access) {
  std::vector<Cell>& cells = draft.grid.cells;
  std::vector<int> users(cells.size());
  for (Cell& cell : cells) {
    cell.fill = kIdleCell;
    cell.quiet = true;
  }
  const std::set<int> waiting(access.in_conflict.begin(), access.in_conflict.end());
  for (const ThreadAccess& one : access.threads) {
    for (std::size_t i = 0; i < one.coordinates.size(); ++i) {
      const auto at = static_cast<std::size_t>(one.coordinates[i]);
      const std::int64_t index = one.index + static_cast<std::int64_t>(i);
      const std::int64_t address = index * access.request.type.element_bytes;
      Cell& cell = cells[at];
      cell.alarm = cell.alarm || waiting.contains(one.thread);
      if (users[at]++ > 0) continue;
      cell.quiet = false;
      cell.owner = one.thread;
      cell.first = format_text("T{}", one.thread);
      if (access.shared) {
        cell.fill = bank_colour(bank_of(address));
        cell.second = format_text("b{}", bank_of(address));
      } else {
        const std::int64_t sector = sector_of(address);
        const auto place = std::find_if(access.global->sectors.begin(), access.global->sectors.end(),
                                        [&](const GlobalSector& one_of) { return one_of.number == sector; });
        cell.fill = thread_colour(place - access.global->sectors.begin());
        cell.second = format_text("s{}", sector);
      }
      cell.tip += format_text("; thread {}, index {}, byte {}", one.thread, index, address);
    }
  }
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (users[i] > 1) cells[i].first += "+";
  const AccessRequest& request = access.request;
  Legend& legend = draft.frame.legend;
  legend.kind = access.shared ? Legend::Kind::banks : Legend::Kind::none;
  legend.notes.push_back(format_text(
      "{}: {} thread{} {} {} element{} of {} byte{} each, their first. Outlined cells show thread and {}.",
      request.type.name, access.threads.size(), plural(static_cast<std::int64_t>(access.threads.size())),
      request.is_load ? "load" : "store", request.type.elements, plural(request.type.elements),
      request.type.element_bytes, plural(request.type.element_bytes),
      access.shared ? "bank (b)" : "sector (s)"));
  if (!access.in_conflict.empty())
    legend.notes.push_back(format_text("Red: threads that wait for bank {}.", access.conflict_bank));
}

}  // namespace gpuforge::layout
