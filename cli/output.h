// stdout, with its failures seen: data a user asked for must not vanish silently.
#pragma once

#include <string>
#include <string_view>

#include "gpuforge/base/json.h"

namespace gpuforge::cli {

// Whoever read our output has gone (`| head -1`): the program ends, quietly.
struct ReaderGone {};

class Output {
 public:
  explicit Output(int file_descriptor) : file_descriptor_(file_descriptor) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view text);
  void line(std::string_view text) {
    write(text);
    write("\n");
  }
  void document(const Json& json) { line(json.dump(2)); }
  // unavailable Error when the disk is full or the file cannot be written; ReaderGone when a pipe was closed.
  // What could not be written is dropped, so that a second try says nothing more.
  void flush();

 private:
  int file_descriptor_;
  std::string pending_;
};

}  // namespace gpuforge::cli
