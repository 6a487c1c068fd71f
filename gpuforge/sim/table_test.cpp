#include "gpuforge/sim/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "gpuforge/base/file.h"
#include "gpuforge/sim/syntax.h"

namespace gpuforge::sim {
namespace {

constexpr std::string_view kBegin = "<!-- the table: made from gpuforge/sim, see HACKING.md -->\n";

TEST(SimTable, EveryRowFollowsTheRules) {
  for (const auto& family : opcode_families()) {
    ASSERT_FALSE(family.empty());
    for (const OpcodeRow& row : family) {
      if (row.bind == nullptr) continue;
      const RowSyntax syntax = compile_syntax(row.syntax);
      EXPECT_FALSE(syntax.mnemonic.empty()) << row.syntax;
      std::size_t slots = 0;
      for (const OperandSyntax& operand : syntax.operands)
        slots += operand.kind == OperandKind::predicate_pair ||
                         operand.kind == OperandKind::destination_and_predicate
                     ? 2
                     : 1;
      EXPECT_LE(slots, std::tuple_size_v<decltype(Op::operand)>) << row.syntax;
    }
  }
}

// The documentation holds the table; with GPUFORGE_WRITE_DOCS set, the test writes it instead.
TEST(SimTable, TheDocumentationIsCurrent) {
  const std::filesystem::path path = std::filesystem::path(GPUFORGE_SOURCE_DIR) / "docs" / "sim.md";
  const std::string text = read_file(path);
  const std::size_t begin = text.find(kBegin);
  ASSERT_NE(begin, std::string::npos);
  const std::string wanted = text.substr(0, begin) + std::string(kBegin) + "\n" + opcode_table_text();
  if (std::getenv("GPUFORGE_WRITE_DOCS") != nullptr)
    write_file(path, wanted);
  else
    EXPECT_EQ(text, wanted)
        << "run GPUFORGE_WRITE_DOCS=1 build/release/bin/sim_test --gtest_filter='SimTable.*'";
}

}  // namespace
}  // namespace gpuforge::sim
