// What stands in the cells of a picture, for each kind of it. Not installed.
#pragma once

#include "gpuforge/layout/picture.h"
#include "gpuforge/layout/picture_frame.h"

namespace gpuforge::layout {

// Everything about a picture before it is drawn.
struct Draft {
  Grid grid;
  Frame frame;
};

// Empty cells for a shape; `text` is what is drawn.
Draft draft_of(TupleView shape, const std::string& text, const PictureOptions& options);
void fill_indices(Draft& draft, const Mapping& layout, TupleView shape);
// After the indices.
void fill_banks(Draft& draft, const Mapping& layout, std::int64_t element_bytes);
void fill_threads(Draft& draft, const ThreadValueLayout& by, TupleView tile);
// Over what is there, which becomes quiet.
void fill_access(Draft& draft, const WarpAccess& access);

}  // namespace gpuforge::layout
