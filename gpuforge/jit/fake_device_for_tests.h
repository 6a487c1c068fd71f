// A device that loads anything and launches into a list: for tests and benches of the launch path without a
// GPU.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/device/device.h"

namespace gpuforge::jit {

class FakeFunction : public device::Function {
 public:
  explicit FakeFunction(device::FunctionFacts facts) : facts_(std::move(facts)) {}
  const device::FunctionFacts& facts() const override { return facts_; }
  int max_active_blocks(int, std::size_t) const override { return 1; }
  int max_active_clusters(const device::LaunchConfig&) const override { return 1; }

 private:
  device::FunctionFacts facts_;
};

class FakeModule : public device::Module {
 public:
  FakeModule(std::string image, std::shared_ptr<device::Device> device)
      : image_(std::move(image)), device_(std::move(device)) {}
  std::shared_ptr<device::Function> function(std::string_view entry, std::optional<std::size_t>) override {
    device::FunctionFacts facts;
    facts.name = entry;
    return std::make_shared<FakeFunction>(facts);
  }

 private:
  std::string image_;
  std::shared_ptr<device::Device> device_;
};

class FakeDevice : public device::Device {
 public:
  FakeDevice() {
    facts_.name = "fake:0";
    facts_.kind = device::DeviceKind::cuda;
    facts_.compute_major = 9;
    facts_.driver_version = 13000;
  }
  device::DeviceFacts& mutable_facts() { return facts_; }
  const device::DeviceFacts& facts() const override { return facts_; }
  device::MemoryInfo memory_info() const override { return {}; }
  device::Address allocate(std::size_t, device::Stream&) override { return 0; }
  void free(device::Address, device::Stream&) noexcept override {}
  void* allocate_pinned(std::size_t) override { return nullptr; }
  void free_pinned(void*) noexcept override {}
  std::shared_ptr<device::Stream> make_stream(int) override { return nullptr; }
  std::unique_ptr<device::Event> make_event(bool) override { return nullptr; }
  std::shared_ptr<device::Module> load_module(std::span<const std::byte> image, std::string_view) override {
    ++loads;
    if (!refusal.empty()) throw Error(ErrorCode::cuda, refusal);
    last_image.assign(reinterpret_cast<const char*>(image.data()), image.size());
    return std::make_shared<FakeModule>(last_image, weak_from_this().lock());
  }
  void synchronize() override {}

  int loads = 0;
  std::string refusal;  // what load_module fails with
  std::string last_image;

 private:
  device::DeviceFacts facts_;
};

class FakeStream : public device::Stream {
 public:
  explicit FakeStream(device::Device& device) : device_(device) {}
  device::Device& device() const override { return device_; }
  bool done() const override { return true; }
  void synchronize() override {}
  void record(device::Event&) override {}
  void wait(const device::Event&) override {}
  void copy_to_device(device::Address, const void*, std::size_t) override {}
  void copy_to_host(void*, device::Address, std::size_t) override {}
  void copy(device::Address, device::Address, std::size_t) override {}
  void fill(device::Address, std::uint32_t, std::size_t, std::size_t) override {}
  void enqueue(std::function<void()>) override {}
  void launch(const device::Function&, const device::LaunchConfig& launched,
              std::span<void* const> given) override {
    ++launches;
    config = launched;
    if (keep) parameters.assign(given.begin(), given.end());
  }
  void begin_capture() override {}
  std::unique_ptr<device::Graph> end_capture() override { return nullptr; }

  template <typename T>
  T value(std::size_t index) const {
    T result;
    std::memcpy(&result, parameters.at(index), sizeof(T));
    return result;
  }

  bool keep = true;
  int launches = 0;
  device::LaunchConfig config;
  std::vector<void*> parameters;

 private:
  device::Device& device_;
};

}  // namespace gpuforge::jit
