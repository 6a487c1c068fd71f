#include "gpuforge/ops/registry.h"

#include "gpuforge/base/suggest.h"
#include "gpuforge/ops/descriptions.h"
#include "gpuforge/ops/elementwise/elementwise.h"

namespace gpuforge::ops {

std::vector<lab::Op> all_ops() {
  return {
      describe_copy_transpose(), describe_elementwise(),
      describe_layer_norm(),     describe_matmul(),
      describe_reduce(),         describe_reduce_sum(),
      describe_rms_norm(),       describe_rms_norm_backward(),
      describe_softmax_online(), describe_softmax_online_backward(),
  };
}

lab::Op find_op(std::string_view name) {
  std::vector<std::string> known;
  std::string names;
  for (lab::Op& op : all_ops()) {
    if (op.name == name) return std::move(op);
    known.push_back(op.name);
    names += (names.empty() ? "" : ", ") + op.name;
  }
  for (const Function& function : functions()) {
    if (function.name == name) return describe_element_function(function);
    known.emplace_back(function.name);
  }
  names += ", and the functions of elementwise";
  throw Error(ErrorCode::invalid_argument,
              format_text("there is no op '{}'; there are {}{}", name, names, did_you_mean(name, known)));
}

}  // namespace gpuforge::ops
