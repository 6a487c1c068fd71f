// --svg, --png and --access of `gpuforge layout`, and what belongs to them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "gpuforge/layout/picture.h"

namespace gpuforge::cli {

inline constexpr std::string_view kLayoutSpaces[] = {"shared", "global"};

// The verb's table has these among its own.
inline constexpr Option kLayoutPictureOptions[] = {
    {.name = "svg", .value = "FILE", .help = "draw the result into an SVG file", .kind = ValueKind::file},
    {.name = "png",
     .value = "FILE",
     .help = "draw it into a PNG file; needs the program rsvg-convert",
     .kind = ValueKind::file},
    {.name = "access",
     .value = "TYPE",
     .help = "what a warp's first access costs, and why; each thread accesses TYPE, such as f16x8 or f32"},
    {.name = "space",
     .value = "SPACE",
     .help = "memory of --access: shared (wavefronts, the default) or global (sectors)",
     .values = kLayoutSpaces,
     .only_values = true},
    {.name = "store", .help = "--access stores; it loads otherwise"},
    {.name = "tile",
     .value = "SHAPE",
     .help = "the result is a layout of (thread,value) over a tile of this shape"},
    {.name = "memory",
     .value = "EXPR",
     .help = "the layout of that tile in memory, for --access; column-major otherwise"},
    {.name = "element", .value = "TYPE", .help = "draw banks for elements of this type, such as f16"},
};

// --tile and --memory may use the names that are bound. `title` stands above the picture.
layout::PictureOptions layout_picture_options(const Invocation& invocation, const layout::Bindings& bindings,
                                              std::string title);

struct LayoutPicture {
  std::optional<layout::WarpAccess> access;  // with --access
  std::vector<std::string> files;            // that were written
};
// Nothing is written unless everything can be drawn.
LayoutPicture draw_layout(Session& session, const Invocation& invocation, const layout::Value& value,
                          const layout::PictureOptions& options);

Json access_json(const layout::WarpAccess& access);

}  // namespace gpuforge::cli
