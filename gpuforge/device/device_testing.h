// Tools of this room's tests: a gate that holds work up, and expectations about Errors. Not installed.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include "gpuforge/base/error.h"

namespace gpuforge::device {

// Blocks a stream until it is opened; opens itself in the end so that a failing test ends.
class Gate {
 public:
  Gate() : opened_(promise_.get_future().share()) {}
  ~Gate() { open(); }
  void open() {
    if (!open_.exchange(true)) promise_.set_value();
  }
  std::function<void()> work() const {
    return [opened = opened_] { opened.wait(); };
  }

 private:
  std::promise<void> promise_;
  std::shared_future<void> opened_;
  std::atomic<bool> open_ = false;
};

// True when `calls` returns although the gate stays closed.
inline bool returns_behind(Gate& gate, const std::function<void()>& calls) {
  std::future<void> finished = std::async(std::launch::async, calls);
  const bool returned = finished.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  if (!returned) gate.open();
  finished.get();
  return returned;
}

// True when `condition` comes true: for what happens on threads nobody can wait for.
inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

inline ErrorCode code_of(const std::function<void()>& call, std::string* message = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.message();
    return error.code();
  }
  ADD_FAILURE() << "no Error was thrown";
  return ErrorCode::internal;
}

inline void expect_refused(const std::function<void()>& call, const std::string& device_name) {
  std::string message;
  EXPECT_EQ(code_of(call, &message), ErrorCode::invalid_argument) << message;
  EXPECT_THAT(message, testing::StartsWith(device_name)) << "the message names the device";
}

}  // namespace gpuforge::device
