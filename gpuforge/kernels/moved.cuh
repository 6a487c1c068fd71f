// Moved<kBytes>::Type: what one instruction moves. Clang takes structs apart, and does not always put them
// together again.
#pragma once

namespace gpuforge {

template <int kBytes>
struct Moved;
#ifdef __clang__
template <>
struct Moved<16> {
  typedef unsigned __attribute__((ext_vector_type(4), may_alias)) Type;
};
template <>
struct Moved<8> {
  typedef unsigned __attribute__((ext_vector_type(2), may_alias)) Type;
};
template <>
struct Moved<4> {
  typedef unsigned __attribute__((may_alias)) Type;
};
template <>
struct Moved<2> {
  typedef unsigned short __attribute__((may_alias)) Type;
};
#else
template <>
struct Moved<16> {
  using Type = uint4;
};
template <>
struct Moved<8> {
  using Type = uint2;
};
template <>
struct Moved<4> {
  using Type = unsigned;
};
template <>
struct Moved<2> {
  using Type = unsigned short;
};
#endif

}  // namespace gpuforge
