#include "gpuforge/base/format.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

struct Family {
  std::string_view title;
  std::span<const OpcodeRow> rows;
};

std::vector<Family> families() {
  return {{"Integer arithmetic", integer_rows()},
          {"Packed video", video_rows()},
          {"Logic, shifts and bit fields", logic_rows()},
          {"Extended precision", carry_rows()},
          {"Comparison and selection", compare_rows()},
          {"Moves and addresses", move_rows()},
          {"f32", float32_rows()},
          {"f64", float64_rows()},
          {"f16 and bf16", half_rows()},
          {"Conversion", convert_rows()},
          {"Loads, stores, prefetches", load_store_rows()},
          {"Atomics", atomic_rows()},
          {"Warp", warp_rows()},
          {"Barriers", barrier_rows()},
          {"Barriers in memory", mbarrier_rows()},
          {"Clusters", cluster_rows()},
          {"Asynchronous copies", async_copy_rows()},
          {"Control, fences, others", control_rows()}};
}

}  // namespace

std::vector<std::span<const OpcodeRow>> opcode_families() {
  std::vector<std::span<const OpcodeRow>> all;
  for (const Family& family : families()) all.push_back(family.rows);
  return all;
}

std::string opcode_table_text() {
  std::string text;
  for (const Family& family : families()) {
    text += format_text("### {}\n\n", family.title);
    for (const OpcodeRow& row : family.rows)
      text += row.note.empty() ? format_text("- `{}`\n", row.syntax)
                               : format_text("- `{}`: {}\n", row.syntax, row.note);
    text += "\n";
  }
  return text;
}

}  // namespace gpuforge::sim
