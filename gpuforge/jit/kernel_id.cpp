#include "gpuforge/jit/kernel_id.h"

#include <algorithm>

#include "gpuforge/base/format.h"
#include "gpuforge/kernels/device_type.h"

namespace gpuforge::jit {
namespace {

DType dtype_in(std::uint64_t value) {
  return static_cast<DType>(value);
}

}  // namespace

KernelId& KernelId::operator=(const KernelId& other) {
  file_ = other.file_;
  kernel_ = other.kernel_;
  hash_ = other.hash_;
  count_ = other.count_;
  std::copy_n(other.parts_.begin(), count_, parts_.begin());
  return *this;
}

bool operator==(const KernelId& a, const KernelId& b) {
  if (a.hash_ != b.hash_ || a.count_ != b.count_ || a.file_ != b.file_ || a.kernel_ != b.kernel_)
    return false;
  return std::equal(a.parts_.begin(), a.parts_.begin() + static_cast<std::ptrdiff_t>(a.count_),
                    b.parts_.begin(), [](const KernelId::Part& x, const KernelId::Part& y) {
                      return x.value == y.value && x.kind == y.kind && x.text_bytes == y.text_bytes &&
                             (x.text == y.text || std::equal(x.text, x.text + x.text_bytes, y.text));
                    });
}

std::string KernelId::text_of(const Part& part) {
  const std::string_view text(part.text, part.text_bytes);
  switch (part.kind) {
    case Kind::type:
      return std::string(device_type(dtype_in(part.value)));
    case Kind::bits:
      return std::string(bits_type(part.value));
    case Kind::space:
      return std::string(text) + "::";
    case Kind::word:
      return std::string(text);
    case Kind::one:
      return format_text("{}<{}>", text, device_type(dtype_in(part.value)));
    case Kind::number:
      return std::to_string(static_cast<std::int64_t>(part.value));
    case Kind::flag:
      return part.value != 0 ? "true" : "false";
    case Kind::open:
      return std::string(text) + "<";
    case Kind::close:
      return ">";
  }
  throw Error(ErrorCode::internal, "jit: not a value of the enumeration of template arguments");
}

std::string KernelId::expression() const {
  std::string expression(kernel_.text());
  if (count_ == 0) return expression;
  expression += "<";
  bool first = true;  // no comma before it
  for (std::size_t i = 0; i < count_; ++i) {
    const Part& part = parts_[i];
    if (!first && part.kind != Kind::close) expression += ", ";
    expression += text_of(part);
    first = part.kind == Kind::open || part.kind == Kind::space;
  }
  return expression + ">";
}

}  // namespace gpuforge::jit
