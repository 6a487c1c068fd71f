#include "gpuforge/sched/workload_values.h"

#include "gpuforge/base/format.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::sched {

std::uint64_t read_bytes(const Yaml& yaml) {
  const auto bytes = parse_byte_size(yaml.text());
  if (!bytes) yaml.fail(format_text("expected a size such as 512MiB, 8GiB or 4096; found '{}'", yaml.text()));
  return *bytes;
}

double read_duration(const Yaml& yaml) {
  const auto us = parse_duration_us(yaml.text());
  if (!us) yaml.fail(format_text("expected a time such as 200us, 1.5ms or 2s; found '{}'", yaml.text()));
  return *us;
}

double read_share(const Yaml& yaml) {
  const double share = yaml.number();
  if (!(share >= 0 && share <= 1)) yaml.fail(format_text("expected 0 to 1; found {}", yaml.text()));
  return share;
}

std::int64_t read_whole(const Yaml& yaml, std::int64_t least, std::int64_t most) {
  const std::int64_t value = yaml.integer();
  if (value < least || value > most)
    yaml.fail(format_text("expected a whole number from {} to {}; found {}", least, most, value));
  return value;
}

}  // namespace gpuforge::sched
