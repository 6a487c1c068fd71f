#include "gpuforge/sim/names.h"

#include <charconv>

namespace gpuforge::sim {

const Symbol* Names::find(std::string_view name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto exact = scope->find(name);
        exact != scope->end() && exact->second.kind != Symbol::Kind::range)
      return &exact->second;
    // The longest run of digits first: %r12 is 12 of %r, unless a range is called %r1.
    std::size_t stem = name.size();
    while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9') {
      --stem;
      if (name[stem] == '0' && stem + 1 < name.size()) continue;  // %r01 is no register of %r
      const auto range = scope->find(name.substr(0, stem));
      if (range == scope->end() || range->second.kind != Symbol::Kind::range) continue;
      std::uint32_t number = 0;
      const auto [end, error] = std::from_chars(name.data() + stem, name.data() + name.size(), number);
      if (error != std::errc() || end != name.data() + name.size() || number >= range->second.range) continue;
      found_ = range->second;
      found_.kind = Symbol::Kind::reg;
      found_.number += number;
      return &found_;
    }
  }
  return nullptr;
}

}  // namespace gpuforge::sim
