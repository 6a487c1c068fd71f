// Layouts as SVG pictures: grids whose cells show the index, thread and value, or bank. The same value gives
// the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gpuforge/layout/access.h"
#include "gpuforge/layout/expression.h"

namespace gpuforge::layout {

struct PictureOptions {
  // The expression that was asked for, shown above; the layout's own text is always there.
  std::string title;
  // The layout is one of (thread,value) over a tile of this shape.
  std::optional<IntTuple> tile;
  // Where the tile's elements lie, for the access; otherwise the tile is compact, its first mode fastest.
  std::optional<Mapping> memory;
  std::optional<AccessRequest> access;
  // Of an element, for banks; otherwise the access's, or what makes a swizzle move 16 bytes at a time.
  std::optional<std::int64_t> element_bytes;
};

struct Picture {
  std::string svg;
  std::optional<WarpAccess> access;
};

// The access alone, for layouts of any size; options.access must be there.
WarpAccess access_of(const Value& value, const PictureOptions& options);

// What can be drawn:
//   a layout           cells show the index; with an access in shared memory or element_bytes: index and bank
//   a swizzled layout  cells show index and bank
//   (tiler, tv)        cells of the tile show thread and value
// Rank 1 is a row, rank 2 a grid; the modes of higher ranks are grouped into rows and columns of about the
// same size. With an access, cells that it touches show the thread and bank or sector, the others stay quiet.
// Text is left out beyond 128 cells a side, and 65536 cells are the most; unknown numbers are an Error.
Picture draw(const Value& value, const PictureOptions& options = {});

}  // namespace gpuforge::layout
