// Results of `bench` as JSON, and back: for files, baselines and children.
#pragma once

#include "gpuforge/base/json.h"
#include "gpuforge/lab/bench.h"

namespace gpuforge::lab {

// Of the document that holds the cases. A reader refuses a newer one.
inline constexpr int kBenchSchema = 1;

Json to_json(const BenchResult& result);
// parse Error when it is not one.
BenchResult bench_result(const Json& json);

// The cases of a document that `bench --save` wrote; `name` is the file. parse Error when it is none, or of a
// newer schema.
std::vector<BenchResult> read_bench_document(const Json& document, std::string_view name);

}  // namespace gpuforge::lab
