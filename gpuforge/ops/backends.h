// Who computes an op: `kernel` (the op itself, and what is taken until another is set), `ref` (the reference
// in double on the host, rounded once to the dtype: slow, and it waits for the stream), or what a program
// registers. A value: a program makes one, and copies of it do not know of each other.
//
// An op and its backward, "softmax_online" and "softmax_online_backward", are registered and set together
// under the op's name; a backward whose op is not among those given is an op by itself. A backend without a
// backward has the reference's.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/lab/op.h"
#include "gpuforge/ops/registry.h"

namespace gpuforge::ops {

class Backends {
 public:
  // Computes what the call asks for: into the arrays of call.operands, or by putting others in their place,
  // which are then copied to where the caller wants them.
  using Implementation = std::function<void(const lab::Call& call)>;

  explicit Backends(std::vector<lab::Op> ops = all_ops());

  enum class Existing { refuse, overwrite };
  // invalid_argument: no such op, an empty name, an empty function, a backward for an op that has none, a
  // name that is taken (`ref` and `kernel` always are).
  void add(std::string_view op, std::string_view name, Implementation forward, Implementation backward = {},
           Existing existing = Existing::refuse);
  // invalid_argument "Unknown softmax_online backend ..." when there is none of that name.
  void set(std::string_view op, std::string_view name);
  const std::string& get(std::string_view op) const;
  std::vector<std::string> list(std::string_view op) const;  // sorted

  // By the backend that is set. Afterwards every output has been seen to have the shape, dtype and device it
  // should have: an Error that names the backend otherwise.
  void run(std::string_view op, const lab::Call& call) const;
  // The outputs, allocated. `inputs` are the op's inputs in order; options not given are the op's own.
  std::vector<Array> run(std::string_view op, const lab::Problem& problem, std::span<const Array> inputs,
                         device::Stream& stream) const;
  // The op with run() by the backend of that name, for check and bench. Only `kernel` has kernels and
  // choices.
  lab::Op op(std::string_view op, std::string_view backend) const;

 private:
  struct Backend {
    Implementation forward;
    Implementation backward;  // empty: the reference
  };
  struct Family {
    lab::Op forward;
    std::vector<lab::Op> backward;  // one or none
    std::map<std::string, Backend, std::less<>> backends;
    std::string chosen = "kernel";
  };
  struct Found {
    const Family* family;
    const lab::Op* op;
  };
  Found find(std::string_view op) const;
  const Family& family(std::string_view op) const;
  static const Backend& backend(const Family& family, std::string_view name);
  static Implementation implementation(const Found& found, std::string_view name);
  std::map<std::string, Family, std::less<>> families_;
};

}  // namespace gpuforge::ops
