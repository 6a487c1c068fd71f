// Speed of the algebra on layouts of kernels: depth up to 3, up to 8 modes. Each must stay below 1 us.
#include <benchmark/benchmark.h>

#include "gpuforge/layout/expression.h"

namespace gpuforge::layout {
namespace {

template <class Operation>
void measure(benchmark::State& state, const Operation& operation) {
  for (auto _ : state) benchmark::DoNotOptimize(operation());
}

const Layout kDeep = parse_layout("(((2,4),(8,2)),((4,2),(2,2))):(((1,256),(2,16)),((32,128),(1024,2048)))");
const Layout kTile = parse_layout("((2,4),(8,16)):((1,256),(2,16))");
const Layout kRows = parse_layout("(128,64):(64,1)");
const Layout kThreads = parse_layout("(4,8):(8,1)");
const Layout kValues = parse_layout("(2,4):(4,1)");
const IntTuple kSizes = parse_tuple("(4,16)");

void BM_composition(benchmark::State& state) {
  measure(state, [] { return composition(kDeep, kThreads); });
}
void BM_complement(benchmark::State& state) {
  measure(state, [] { return complement(kTile, IntTuple(8192)); });
}
void BM_coalesce(benchmark::State& state) {
  measure(state, [] { return coalesce(kDeep); });
}
void BM_right_inverse(benchmark::State& state) {
  measure(state, [] { return right_inverse(kDeep); });
}
void BM_left_inverse(benchmark::State& state) {
  measure(state, [] { return left_inverse(kDeep); });
}
void BM_logical_divide(benchmark::State& state) {
  const Tiler tiler(kThreads);
  measure(state, [&] { return logical_divide(kDeep, tiler); });
}
// With the tiler made each time.
void BM_zipped_divide(benchmark::State& state) {
  measure(state, [] { return zipped_divide(kDeep, Tiler(kSizes.view())); });
}
void BM_zipped_divide_of_rows(benchmark::State& state) {
  measure(state, [] { return zipped_divide(kRows, Tiler(kSizes.view())); });
}
void BM_flat_divide(benchmark::State& state) {
  measure(state, [] { return flat_divide(kTile, Tiler(kSizes.view())); });
}
void BM_logical_product(benchmark::State& state) {
  const Tiler tiler(kValues);
  measure(state, [&] { return logical_product(kThreads, tiler); });
}
void BM_raked_product(benchmark::State& state) {
  measure(state, [] { return raked_product(kThreads, kValues); });
}
void BM_make_layout_tv(benchmark::State& state) {
  measure(state, [] { return make_layout_tv(kThreads, kValues); });
}
void BM_evaluate(benchmark::State& state) {
  measure(state, [] { return evaluate("zipped_divide((128,64):(64,1), (4,16))"); });
}
BENCHMARK(BM_composition);
BENCHMARK(BM_complement);
BENCHMARK(BM_coalesce);
BENCHMARK(BM_right_inverse);
BENCHMARK(BM_left_inverse);
BENCHMARK(BM_logical_divide);
BENCHMARK(BM_zipped_divide);
BENCHMARK(BM_zipped_divide_of_rows);
BENCHMARK(BM_flat_divide);
BENCHMARK(BM_logical_product);
BENCHMARK(BM_raked_product);
BENCHMARK(BM_make_layout_tv);
BENCHMARK(BM_evaluate);

}  // namespace
}  // namespace gpuforge::layout
