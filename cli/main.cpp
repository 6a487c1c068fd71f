#include <string>
#include <vector>

#include "cli/program.h"

int main(int count, char** texts) {
  const std::vector<std::string> arguments(texts + (count > 0 ? 1 : 0), texts + count);
  return gpuforge::cli::run_program(arguments);
}
