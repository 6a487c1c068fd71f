#include "tests/ptx/kernel_run.h"

#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/format.h"
#include "gpuforge/cuda/driver.h"
#include "gpuforge/cuda/library.h"
#include "gpuforge/device/cuda_device.h"

namespace gpuforge::ptx_files {
namespace {

constexpr auto kAlignment = std::align_val_t{256};  // what a GPU's allocations have

// A copy of a buffer that the simulator knows while this lives.
class Placed {
 public:
  Placed(sim::Memory& memory, std::span<const std::byte> bytes, std::string label)
      : memory_(memory),
        bytes_(static_cast<std::byte*>(::operator new(bytes.size(), kAlignment)), bytes.size()) {
    std::memcpy(bytes_.data(), bytes.data(), bytes.size());
    memory_.add(address(), bytes.size(), std::move(label), true);
  }
  ~Placed() {
    memory_.remove(address());
    ::operator delete(bytes_.data(), kAlignment);
  }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes_.data()); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  sim::Memory& memory_;
  std::span<std::byte> bytes_;
};

}  // namespace

SimModule::SimModule(std::string text, std::string name)
    : program_(sim::load_program(memory_, std::move(text), std::move(name))) {}

sim::LaunchReport SimModule::run(std::string_view entry, const Shape& shape, std::vector<Bytes>& buffers,
                                 const sim::Options& options) const {
  std::vector<std::unique_ptr<Placed>> placed;
  std::vector<std::uint64_t> addresses;
  std::vector<const void*> parameters;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    placed.push_back(std::make_unique<Placed>(*memory_, buffers[i], format_text("buffer {}", i)));
    addresses.push_back(placed[i]->address());
  }
  // Whatever size the text gives a parameter, there are bytes for it: the address, then zeros.
  constexpr std::size_t kLargestParameter = 65536;
  Bytes values(addresses.size() * kLargestParameter);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    std::memcpy(values.data() + i * kLargestParameter, &addresses[i], sizeof(addresses[i]));
    parameters.push_back(values.data() + i * kLargestParameter);
  }
  const sim::Geometry geometry{
      .grid = {shape.blocks, 1, 1}, .block = {shape.threads, 1, 1}, .cluster = {shape.cluster, 1, 1}};
  sim::LaunchReport report = sim::launch(*program_, entry, geometry, parameters, options);
  for (std::size_t i = 0; i < buffers.size(); ++i)
    buffers[i].assign(placed[i]->bytes().begin(), placed[i]->bytes().end());
  return report;
}

std::shared_ptr<device::Device> open_gpu(std::string* why) {
  const auto driver = cuda::Driver::try_load(cuda::search_options(read_environment()), why);
  return driver == nullptr ? nullptr : device::make_cuda_device(driver, 0);
}

GpuModule::GpuModule(std::shared_ptr<device::Device> device, std::string_view text, std::string_view name)
    : device_(std::move(device)),
      module_(device_->load_module(std::as_bytes(std::span(text)), name)),
      stream_(device_->make_stream()) {}

void GpuModule::run(std::string_view entry, const Shape& shape, std::vector<Bytes>& buffers) const {
  const auto function = module_->function(entry);
  std::vector<device::Address> addresses(buffers.size());
  std::vector<void*> parameters;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    addresses[i] = device_->allocate(buffers[i].size(), *stream_);
    stream_->copy_to_device(addresses[i], buffers[i].data(), buffers[i].size());
    parameters.push_back(&addresses[i]);
  }
  const device::LaunchConfig config{
      .grid = {shape.blocks, 1, 1}, .block = {shape.threads, 1, 1}, .cluster = {shape.cluster, 1, 1}};
  stream_->launch(*function, config, parameters);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    stream_->copy_to_host(buffers[i].data(), addresses[i], buffers[i].size());
    device_->free(addresses[i], *stream_);
  }
  stream_->synchronize();
}

}  // namespace gpuforge::ptx_files
