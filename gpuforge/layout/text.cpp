#include <charconv>

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

void write(TupleView tuple, std::string& out) {
  if (tuple.is_underscore()) {
    out += '_';
  } else if (tuple.is_integer()) {
    out += tuple.integer().known() ? std::to_string(tuple.integer().value()) : "?";
  } else {
    out += '(';
    const char* comma = "";
    for (const TupleView element : tuple) {
      out += comma;
      comma = ",";
      write(element, out);
    }
    out += ')';
  }
}

// Layouts are small: who nests deeper than this made a mistake.
constexpr int kDeepest = 64;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  IntTuple tuple() {
    TupleBuilder builder;
    read(builder, 0);
    return builder.take();
  }
  bool accept(char wanted) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect_end() {
    skip_space();
    if (at_ != text_.size()) fail("the end");
  }
  [[noreturn]] void fail(std::string_view expected) {
    const std::string found = at_ < text_.size() ? format_text("'{}'", text_[at_]) : "the end";
    throw Error(ErrorCode::parse, format_text("layout: column {} of '{}': expected {}, found {}", at_ + 1,
                                              text_, expected, found));
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  void read(TupleBuilder& builder, int depth) {
    if (depth > kDeepest) fail(format_text("at most {} levels", kDeepest));
    if (accept('(')) {
      builder.open();
      while (!accept(')')) {
        read(builder, depth + 1);
        if (accept(',')) continue;
        if (!accept(')')) fail("',' or ')'");
        break;
      }
      builder.close();
    } else if (accept('?')) {
      builder.add(Integer::unknown());
    } else if (accept('_')) {
      // CuTe writes compile-time integers as _4.
      if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') return read_number(builder);
      builder.add(IntTuple::underscore().view());
    } else {
      read_number(builder);
    }
  }

  void read_number(TupleBuilder& builder) {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (problem == std::errc::result_out_of_range || (problem == std::errc() && !Integer(value).known()))
      fail("a number of at most 63 bits");
    if (problem != std::errc()) fail("a number, '?', '_' or '('");
    at_ = static_cast<std::size_t>(end - text_.data());
    builder.add(Integer(value));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_text(TupleView tuple) {
  std::string out;
  write(tuple, out);
  return out;
}

std::string to_text(const Layout& layout) {
  std::string out;
  write(layout.shape(), out);
  out += ':';
  write(layout.stride(), out);
  return out;
}

std::string to_text(const Tiler& tiler) {
  struct Text {
    std::string operator()(const Layout& layout) const { return to_text(layout); }
    std::string operator()(Integer size) const { return to_text(IntTuple(size)); }
    std::string operator()(Tiler::Whole) const { return "_"; }
    std::string operator()(const Tiler::Modes& modes) const {
      std::string out = "(";
      for (const Tiler& mode : modes) out += (out.size() > 1 ? "," : "") + to_text(mode);
      return out + ")";
    }
  };
  return std::visit(Text{}, tiler.value());
}

IntTuple parse_tuple(std::string_view text) {
  Reader reader(text);
  IntTuple tuple = reader.tuple();
  reader.expect_end();
  return tuple;
}

Layout parse_layout(std::string_view text) {
  Reader reader(text);
  IntTuple shape = reader.tuple();
  if (!reader.accept(':')) {
    reader.expect_end();
    return Layout(shape);
  }
  IntTuple stride = reader.tuple();
  reader.expect_end();
  return {std::move(shape), std::move(stride)};
}

void throw_named(const Error& error, std::string_view operation,
                 std::initializer_list<std::string> operands) {
  std::string call(operation);
  const char* separator = "(";
  for (const std::string& operand : operands) {
    call += separator + operand;
    separator = ", ";
  }
  std::string_view why = error.message();
  if (constexpr std::string_view kRoom = "layout: "; why.starts_with(kRoom)) why.remove_prefix(kRoom.size());
  throw Error(error.code(), format_text("layout: {}): {}", call, why), error.detail(), error.where());
}

Tiler::Tiler(TupleView sizes) : value_(Whole{}) {
  if (sizes.is_integer()) value_ = sizes.integer();
  if (!sizes.is_tuple()) return;
  Modes modes;
  modes.reserve(sizes.rank());
  for (const TupleView element : sizes) modes.emplace_back(element);
  value_ = std::move(modes);
}

}  // namespace gpuforge::layout
