// The text of `run --arg`, parsed. The grammar, blanks allowed inside lists only:
//   argument  = [ NAME '=' ] ( scalar | array )
//   scalar    = TYPE ':' VALUE                  any dtype, u16, u32, u64; or hex:BYTES for a struct by value
//   array     = ( 'in' | 'out' | 'inout' ) ':' ( '@' FILE | DTYPE [ SHAPE ] [ '=' initial ] )
//   SHAPE     = '[' [ SIZE { ',' SIZE } ] ']'   sizes as 1024, 2^20, 1e6, 64Ki
//   initial   = 'zeros' | 'ones' | 'random' | 'normal' | 'arange' | [ 'full:' ] VALUE | 'hex:' BYTES [ '..' ]
//             | list | '@' FILE                 '..' repeats the bytes; .npy files know dtype and shape,
//             others are raw
//   list      = '[' [ item { ',' item } ] ']'   item = list | VALUE
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/dtype.h"
#include "gpuforge/base/shape.h"

namespace gpuforge::cli {

enum class ArgumentRole { scalar, in, out, inout };
std::string_view name(ArgumentRole role);

struct Initial {
  enum class Kind { none, zeros, random, normal, arange, repeat, elements, file };
  Kind kind = Kind::none;
  std::vector<std::byte> bytes;  // repeat: one period; elements: all of them
  std::filesystem::path file;
};

struct LaunchArgument {
  std::string text;   // as given
  std::string label;  // the NAME, or "argN"
  bool named = false;
  ArgumentRole role = ArgumentRole::scalar;
  std::string type;               // "f32", "u32", "struct of 24 bytes"; of an array its element's, once known
  std::vector<std::byte> scalar;  // its bytes
  std::optional<DType> dtype;     // arrays; nothing until load_files() when a file tells
  std::optional<Shape> shape;     // likewise
  Initial initial;

  bool is_array() const { return role != ArgumentRole::scalar; }
  std::size_t bytes() const;  // of an array with dtype and shape; what overflows is invalid_argument
};

// Opens nothing. What is wrong is an invalid_argument with the position in the text and what was expected
// there.
LaunchArgument parse_launch_argument(std::string_view text, std::size_t index);

// Reads the file of `initial`, if it has one, and fills in dtype and shape; those that were written must
// agree.
void load_file(LaunchArgument& argument);

}  // namespace gpuforge::cli
