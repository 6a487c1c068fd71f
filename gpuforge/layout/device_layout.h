// A layout of the host as a type in kernels (kernels/tile.cuh): the text of the type, which is part of what
// is compiled, and the bytes of the kernel's argument. `?` is an integer that comes with the launch, so one
// compiled kernel serves all of its values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "gpuforge/layout/swizzle.h"

namespace gpuforge::layout {

// "gpuforge::Layout<gpuforge::Shape<int,gpuforge::Int<32>>,gpuforge::Stride<...>>": for a template argument
// or a define.
std::string device_type(const AnyLayout& layout);
std::string device_type(const Swizzle& swizzle);  // "gpuforge::Swizzle<3,4,3>"
std::string device_type(TupleView shape);         // "gpuforge::Shape<gpuforge::Int<32>,gpuforge::Int<8>>"

// The layout with `?` for the sizes of some modes and the strides of others: of (70,32):(32,1)
// with_dynamic({0}) is
// (?,32):(32,1), for all heights; a width that is not known is with_dynamic({0, 1}, {0}), since rows lie that
// far apart.
Layout with_dynamic(const Layout& layout, std::initializer_list<std::size_t> sizes,
                    std::initializer_list<std::size_t> strides = {});

struct DeviceLayout {
  std::string type;
  std::vector<std::int64_t> values;  // of the run-time integers, in the order they are written

  // The kernel's argument: valid while this is. A type without run-time integers has one byte, as C++ has it.
  std::span<const std::byte> bytes() const;
};
// All of it known to the compiler. What is given must have no `?`.
DeviceLayout device_layout(const AnyLayout& layout);
// What is `?` in `pattern` comes with the launch; everything else must be the same in both.
DeviceLayout device_layout(const AnyLayout& layout, const AnyLayout& pattern);

}  // namespace gpuforge::layout
