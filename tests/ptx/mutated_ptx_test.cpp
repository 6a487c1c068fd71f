// Every file of this folder with a few letters changed: parsed, decoded and run, whatever comes out. It must
// end with a result, findings or an Error that is not our own fault.
#include <gtest/gtest.h>

#include <set>
#include <span>
#include <string>

#include "gpuforge/base/embedded.h"
#include "gpuforge/base/error.h"
#include "tests/ptx/mutation.h"
#include "tests/ptx/ptx_case.h"

namespace gpuforge {
std::span<const EmbeddedFile> ptx_test_files();  // made from the files when this is built
}

namespace gpuforge::ptx_files {
namespace {

constexpr int kMutantsPerFile = 60;

TEST(MutatedPtx, FilesOfThisFolderNeverCrash) {
  MutantCounts counts;
  for (const EmbeddedFile& file : ptx_test_files()) {
    const PtxCase test = read_case(file.path, file.text);
    std::vector<Bytes> buffers;
    for (const Argument& argument : test.arguments) buffers.push_back(argument.bytes);
    const Shape shape{test.grid.x, test.block.x, test.cluster.x};
    run_mutants(test.name, test.text, test.entry, shape, buffers, kMutantsPerFile, &counts);
  }
  // Most changes are fatal, but not all, or nothing beyond the parser was tested.
  EXPECT_GT(counts.ran, counts.total / 20);
  EXPECT_GT(counts.refused, counts.total / 10);
}

}  // namespace
}  // namespace gpuforge::ptx_files
