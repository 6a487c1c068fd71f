// Green contexts: a device of 132 multiprocessors in groups of 8, as an H200's driver has them.
#include <algorithm>

#include "tests/fake_driver/fake_state.h"

using namespace gpuforge::cuda;
using namespace gpuforge::fake_driver;

namespace {

constexpr unsigned kMultiprocessors = 132;
constexpr unsigned kStep = 8;

unsigned round_up(unsigned count) {
  return std::max(kStep, (count + kStep - 1) / kStep * kStep);
}

// Which multiprocessors a resource has is the driver's own knowledge: here the first of them, in the padding.
DeviceResource make_resource(unsigned first, unsigned count) {
  DeviceResource resource{};
  resource.type = DeviceResourceType::multiprocessors;
  resource.reserved[0] = static_cast<unsigned char>(first);
  resource.multiprocessors = {count, kStep, kStep};
  return resource;
}

}  // namespace

extern "C" {

Result cuDeviceGetDevResource(RawDevice device, DeviceResource* resource, DeviceResourceType type) {
  const Entered entered = enter("cuDeviceGetDevResource", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (device < 0 || device >= state().devices) return Result::invalid_device;
  if (type != DeviceResourceType::multiprocessors) return Result::invalid_value;
  *resource = make_resource(0, kMultiprocessors);
  return Result::success;
}

Result cuDevSmResourceSplitByCount(DeviceResource* result, unsigned* groups, const DeviceResource* input,
                                   DeviceResource* remaining, unsigned, unsigned least) {
  const Entered entered = enter("cuDevSmResourceSplitByCount", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (input->type != DeviceResourceType::multiprocessors || least > input->multiprocessors.count)
    return Result::invalid_value;
  const unsigned each = round_up(least);
  const unsigned possible = input->multiprocessors.count / each;
  *groups = result == nullptr ? possible : std::min(*groups, possible);
  if (result == nullptr) return Result::success;
  const unsigned first = input->reserved[0];
  for (unsigned i = 0; i < *groups; ++i) result[i] = make_resource(first + i * each, each);
  if (remaining != nullptr)
    *remaining = make_resource(first + *groups * each, input->multiprocessors.count - *groups * each);
  return Result::success;
}

Result cuDevResourceGenerateDesc(RawResourceDescription* description, DeviceResource* resources,
                                 unsigned count) {
  const Entered entered = enter("cuDevResourceGenerateDesc", Needs::init);
  if (entered.result != Result::success) return entered.result;
  auto made = std::make_unique<CUdevResourceDesc_st>();
  for (unsigned i = 0; i < count; ++i) {
    for (unsigned j = 0; j < resources[i].multiprocessors.count; ++j)
      made->multiprocessors.push_back(static_cast<int>(resources[i].reserved[0] + j));
  }
  if (made->multiprocessors.empty()) return Result::invalid_value;
  *description = made.get();
  state().descriptions.push_back(std::move(made));
  return Result::success;
}

Result cuGreenCtxCreate(RawGreenContext* context, RawResourceDescription description, RawDevice device,
                        unsigned flags) {
  const Entered entered = enter("cuGreenCtxCreate", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (device < 0 || device >= state().devices) return Result::invalid_device;
  if (flags != kGreenContextDefaultStream) return Result::invalid_value;
  auto made = std::make_unique<CUgreenCtx_st>();
  made->device = device;
  made->multiprocessors = description->multiprocessors;
  *context = made.get();
  state().green_contexts.emplace(*context, std::move(made));
  return Result::success;
}

Result cuGreenCtxDestroy(RawGreenContext context) {
  const Entered entered = enter("cuGreenCtxDestroy", Needs::init);
  if (entered.result != Result::success) return entered.result;
  return state().green_contexts.erase(context) > 0 ? Result::success : Result::invalid_handle;
}

Result cuGreenCtxStreamCreate(RawStream* stream, RawGreenContext context, StreamFlags flags, int) {
  const Entered entered = enter("cuGreenCtxStreamCreate", Needs::object);
  if (entered.result != Result::success) return entered.result;
  const auto found = state().green_contexts.find(context);
  if (found == state().green_contexts.end()) return Result::invalid_handle;
  if (flags != StreamFlags::non_blocking) return Result::invalid_value;
  auto made = std::make_unique<CUstream_st>();
  made->device = found->second->device;
  made->multiprocessors = found->second->multiprocessors;
  *stream = made.get();
  state().streams.emplace(*stream, std::move(made));
  return Result::success;
}

}  // extern "C"
