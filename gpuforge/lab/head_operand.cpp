// An operand of a head: its role, dtype and shape.
#include <algorithm>

#include "gpuforge/base/error.h"
#include "gpuforge/lab/head_reader.h"

namespace gpuforge::lab {
namespace {

std::vector<Expression> split_shape(const std::string& text, const Yaml& yaml) {
  std::vector<Expression> shape;
  int depth = 0;
  std::string piece;
  const auto finish = [&] {
    shape.push_back(Expression::parse(piece, yaml.where()));
    piece.clear();
  };
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      finish();
    } else {
      piece += c;
    }
  }
  if (!shape.empty() || piece.find_first_not_of(' ') != std::string::npos) finish();
  return shape;
}

// The symbols are not known before all shapes are read.
std::vector<Expression> unchecked_shape(const Yaml& yaml) {
  if (!yaml.is_list()) yaml.fail("expected a list of extents such as [M, N]");
  std::string text;
  for (const Yaml& item : yaml.list()) text += (text.empty() ? "" : ", ") + item.text();
  return split_shape(text, yaml);
}

}  // namespace

HeadOperand read_operand(const Yaml& yaml, std::string_view element) {
  HeadOperand operand;
  std::string role;
  std::string dtype = "T";
  if (yaml.is_map()) {
    yaml.allow_keys({"role", "dtype", "shape", "centre"});
    role = yaml.at("role").text();
    if (const Yaml* const found = yaml.find("dtype")) dtype = found->text();
    if (const Yaml* const centre = yaml.find("centre")) operand.centre = centre->number();
    operand.shape = unchecked_shape(yaml.at("shape"));
  } else {
    const std::string& text = yaml.text();
    const std::size_t open = std::min(text.find('['), text.size());
    const std::size_t close = text.find_last_of(']');
    const std::string words = text.substr(0, open);
    const std::size_t blank = words.find(' ');
    role = words.substr(0, blank);
    if (blank != std::string::npos) dtype = words.substr(blank + 1);
    while (dtype.ends_with(' ')) dtype.pop_back();
    while (dtype.starts_with(' ')) dtype.erase(0, 1);
    if (open == text.size() || close == std::string::npos || close + 1 != text.size() ||
        blank == std::string::npos)
      yaml.fail(format_text("expected ROLE DTYPE [SHAPE], as in `in T [M, N]`; found '{}'", text));
    operand.shape = split_shape(text.substr(open + 1, close - open - 1), yaml);
  }
  if (role != "in" && role != "out" && role != "inout")
    yaml.fail(format_text("expected the role in, out or inout; found '{}'", role));
  operand.role = role == "in" ? Role::input : role == "out" ? Role::output : Role::inout;
  if (dtype != "T" && (element.empty() || dtype != element)) {
    operand.dtype = parse_dtype(dtype);
    if (!operand.dtype)
      yaml.fail(
          format_text("expected T (the dtype that is asked for) or one such as i32; found '{}'", dtype));
  }
  if (operand.shape.size() > kMaxRank) yaml.fail(format_text("expected at most {} extents", kMaxRank));
  return operand;
}

}  // namespace gpuforge::lab
