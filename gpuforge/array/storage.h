// What arrays share: one allocation, its context, and the streams that work with it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "gpuforge/array/array.h"

namespace gpuforge {

struct Array::Storage : std::enable_shared_from_this<Array::Storage> {
  Storage(std::shared_ptr<Context> owner, std::size_t bytes, device::Stream& stream,
          std::shared_ptr<memory::Allocator> from);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  memory::Hold record_use(device::Stream& stream);

  std::shared_ptr<Context> context;
  std::shared_ptr<memory::Allocator> allocator;
  std::shared_ptr<device::Stream> home;  // the stream the memory is freed on
  const std::uint64_t born_in;           // the capture the memory belongs to (memory/allocator.h); 0: none
  memory::Buffer buffer;
  std::mutex mutex;
  std::vector<std::shared_ptr<device::Stream>>
      visitors;  // other streams with work on the memory; under mutex
};

}  // namespace gpuforge
