#include "gpuforge/lab/op.h"

#include <algorithm>
#include <charconv>

#include "gpuforge/base/parallel.h"

namespace gpuforge::lab {
namespace {

bool is_integer_text(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

template <typename Items, typename Name>
std::string joined(const Items& items, const Name& name_of) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + std::string(name_of(item));
  return text;
}

}  // namespace

std::string_view name(Contents contents) {
  switch (contents) {
    case Contents::normal:
      return "normal";
    case Contents::zeros:
      return "zeros";
    case Contents::constant:
      return "constant";
    case Contents::huge:
      return "huge";
    case Contents::tiny:
      return "tiny";
    case Contents::infinities:
      return "infinities";
    case Contents::nans:
      return "nans";
  }
  throw Error(ErrorCode::internal, "lab: not a value of the contents enumeration");
}

void each_row_in_order(std::size_t rows, std::size_t, const std::function<void(std::size_t row)>& row) {
  for (std::size_t i = 0; i < rows; ++i) row(i);
}

void each_row_on_all_threads(std::size_t rows, std::size_t row_elements,
                             const std::function<void(std::size_t row)>& row) {
  constexpr std::size_t kPieceElements = std::size_t{1} << 15;  // less is not worth a thread
  const std::size_t grain = std::max<std::size_t>(1, kPieceElements / std::max<std::size_t>(1, row_elements));
  parallel_ranges(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(grain),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) row(static_cast<std::size_t>(i));
                  });
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += format_text("{}{}", text.empty() ? "" : "x", extent);
  return text.empty() ? "scalar" : text;
}

Dims coordinate(const Shape& shape, std::size_t place) {
  Dims at = Dims::filled(shape.size(), 0);
  auto rest = static_cast<std::int64_t>(place);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 0) continue;
    at[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  return at;
}

std::string coordinate_text(const Shape& shape, std::size_t place) {
  return to_string(coordinate(shape, place));
}

std::string to_string(const Problem& problem) {
  std::string text = format_text("{} {}", name(problem.dtype), shape_text(problem.shape));
  for (const auto& [option, value] : problem.options) text += format_text(" {}={}", option, value);
  return text;
}

Problem complete(const Op& op, Problem problem) {
  GPUFORGE_CHECK(std::find(op.dtypes.begin(), op.dtypes.end(), problem.dtype) != op.dtypes.end(),
                 "{}: dtype {} was asked for; it has {}", op.name, name(problem.dtype),
                 joined(op.dtypes, [](DType dtype) { return name(dtype); }));
  for (const auto& [option, value] : problem.options) {
    const auto found = std::find_if(op.options.begin(), op.options.end(),
                                    [&](const OptionDescription& known) { return known.name == option; });
    GPUFORGE_CHECK(
        found != op.options.end(), "{}: there is no option '{}'; it has {}", op.name, option,
        op.options.empty() ? "none" : joined(op.options, [](const auto& known) { return known.name; }));
    if (found->values.empty()) {
      GPUFORGE_CHECK(is_integer_text(value), "{}: {} takes an integer, found '{}'", op.name, option, value);
    } else {
      GPUFORGE_CHECK(std::find(found->values.begin(), found->values.end(), value) != found->values.end(),
                     "{}: {} is one of {}; found '{}'", op.name, option,
                     joined(found->values, [](const std::string& known) { return known; }), value);
    }
  }
  for (const OptionDescription& option : op.options) problem.options.emplace(option.name, option.fallback);
  return problem;
}

const Variant& find_variant(const Op& op, std::string_view wanted) {
  GPUFORGE_ASSERT(!op.variants.empty(), "{} has no variants", op.name);
  if (wanted.empty()) return op.variants.front();
  const auto found = std::find_if(op.variants.begin(), op.variants.end(),
                                  [&](const Variant& variant) { return variant.name == wanted; });
  GPUFORGE_CHECK(found != op.variants.end(), "{}: there is no variant '{}'; it has {}", op.name, wanted,
                 joined(op.variants, [](const Variant& variant) { return variant.name; }));
  return *found;
}

Shape parse_shape(std::string_view text) {
  Shape shape;
  if (text.empty() || text == "scalar") return shape;
  std::string_view rest = text;
  while (true) {
    const std::size_t at = rest.find_first_of("x,");
    const std::string_view part = rest.substr(0, at);
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), extent);
    GPUFORGE_CHECK(error == std::errc() && end == part.data() + part.size() && extent >= 0 && !part.empty(),
                   "a shape is written like 4096x1024; found '{}'", text);
    shape.push_back(extent);
    if (at == std::string_view::npos) break;
    rest = rest.substr(at + 1);
  }
  element_count(shape);  // refuses what overflows
  return shape;
}

}  // namespace gpuforge::lab
