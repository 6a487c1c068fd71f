// Random numbers that are the same on every machine: splitmix64.
#pragma once

#include <cstdint>
#include <span>

namespace gpuforge::ptx_files {

class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  unsigned below(std::size_t end) { return static_cast<unsigned>(next() % end); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T>
  const T& of(std::span<const T> values) {
    return values[below(values.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace gpuforge::ptx_files
