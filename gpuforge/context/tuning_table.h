// What tuning found out: for an op, a variant, a dtype and a class of shapes, the configuration that was
// fastest on the context's device. A value; the lab fills it, ops read it when they choose.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "gpuforge/base/dtype.h"
#include "gpuforge/base/shape.h"

namespace gpuforge {

// A kernel's compile-time choices by name: block = 256, vector = 8.
using Config = std::map<std::string, std::int64_t, std::less<>>;
std::string to_string(const Config& config);  // "block=256 vector=8"; "-" when there is none

struct TuningKey {
  std::string op;
  std::string variant;
  DType dtype = DType::f32;
  std::string shapes;  // shape_class() of the extents the choice depends on
  friend auto operator<=>(const TuningKey&, const TuningKey&) = default;
};

// Each extent by the power of two at or above it, with an "r" when it is ragged, no multiple of 8 elements
// (the widest vector of 16-bit ones): "4096x1024r". Shapes of one class are expected to like one
// configuration.
std::string shape_class(const Shape& extents);

class TuningTable {
 public:
  void set(TuningKey key, Config config);
  const Config* find(const TuningKey& key) const;  // nullptr: nothing known
  // For hot paths: an empty table does not have the key made.
  template <typename MakeKey>
  const Config* find_by(const MakeKey& make_key) const {
    return entries_.empty() ? nullptr : find(make_key());
  }
  std::size_t size() const { return entries_.size(); }

 private:
  std::map<TuningKey, Config> entries_;
};

}  // namespace gpuforge
