// Who works on what.
#include "gpuforge/layout/functions.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

// The parts of a tiler or coordinate that the projection, the last argument, does not leave out (`_`).
Value projected(const Arguments& a, const Value& value) {
  const IntTuple& chosen = a.tuple(3);
  if (const auto* const tuple = std::get_if<IntTuple>(&value.is)) return {dice(chosen, *tuple)};
  if (const auto* const layout = std::get_if<Layout>(&value.is)) return {dice(chosen, *layout)};
  const auto* const values = std::get_if<Value::Values>(&value.is);
  if (values == nullptr || values->size() != chosen.rank())
    a.unexpected(3, format_text("a projection that fits {}", to_text(value)));
  Value::Values kept;
  for (std::size_t i = 0; i < values->size(); ++i)
    if (!chosen[i].is_underscore()) kept.push_back((*values)[i]);
  return {std::move(kept)};
}

Value tile_at(const Arguments& a) {
  if (a.size() == 3) return value_of(local_tile(a.mapping(0), a.tiler(1), a.tuple(2)));
  const Value kept[] = {a[0], projected(a, a[1]), projected(a, a[2])};
  return tile_at(Arguments(a.function(), kept));
}

Value partition_at(const Arguments& a) {
  if (a.size() == 3) return value_of(local_partition(a.mapping(0), a.layout(1), a.integer(2)));
  const Value kept[] = {a[0], projected(a, Value{a.layout(1)}), a[2]};
  return partition_at(Arguments(a.function(), kept));
}

// Threads and values over a tile: what make_layout_tv gave, or its two parts as arguments 2 and 3.
ThreadValueLayout thread_values(const Arguments& a, bool as_pair) {
  if (!as_pair) return {a.tuple(1), a.layout(2)};
  if (const auto* const pair = a.get_if<Value::Values>(1); pair != nullptr && pair->size() == 2) {
    const auto* const tiler = std::get_if<IntTuple>(&pair->front().is);
    const auto* const tv = std::get_if<Layout>(&pair->back().is);
    if (tiler != nullptr && tv != nullptr) return {*tiler, *tv};
  }
  a.unexpected(1, "(tiler, tv) as make_layout_tv gives it");
}

Value width_of(const Arguments& a) {
  const std::size_t bits = a.size() - 2;
  return {vector_width(a.mapping(0), thread_values(a, a.size() == 4), a.number(bits), a.number(bits + 1))};
}

constexpr Function kPartition[] = {
    {"make_layout_tv", "threads, values", "(tiler, layout of (thread,value))", 2, 2,
     [](const Arguments& a) -> Value {
       const ThreadValueLayout by = make_layout_tv(a.layout(0), a.layout(1));
       return {Value::Values{{by.tiler}, {by.tv}}};
     }},
    {"local_tile", "A, tiler, coordinate[, projection]", "the tile at that coordinate, and where it begins",
     3, 4, tile_at},
    {"local_partition", "A, threads, index[, projection]",
     "what that thread has when threads take elements in turns", 3, 4, partition_at},
    {"partition_tv", "A, (tiler, tv)", "((thread,value),rest)", 2, 3,
     [](const Arguments& a) -> Value {
       return value_of(partition_tv(a.mapping(0), thread_values(a, a.size() == 2)));
     }},
    {"vector_width", "A, (tiler, tv), bits, alignment",
     "elements of so many bits that a thread can access at once in memory so aligned (bytes), and why", 4, 5,
     width_of},
};

}  // namespace

std::span<const Function> partition_functions() {
  return kPartition;
}

}  // namespace gpuforge::layout
