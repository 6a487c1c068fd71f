#include "gpuforge/device/work_error.h"

#include <new>
#include <utility>

namespace gpuforge::device {

// Converted where it is caught: an exception object does not travel between threads.
void WorkErrors::run(const std::function<void()>& work) noexcept {
  try {
    try {
      work();
    } catch (const OwnFailure& failure) {
      keep(failure.error);
    } catch (const Error& error) {
      keep(Error(error.code(), format_text("{}: enqueued work failed: {}", device_name_, error.message()),
                 error.detail()));
    } catch (const std::bad_alloc&) {
      keep(Error(ErrorCode::out_of_memory,
                 format_text("{}: enqueued work failed: the host is out of memory", device_name_)));
    } catch (const std::exception& error) {
      keep(Error(ErrorCode::internal,
                 format_text("{}: enqueued work failed: {}", device_name_, error.what())));
    } catch (...) {
      keep(Error(ErrorCode::internal,
                 format_text("{}: enqueued work threw something that is no std::exception", device_name_)));
    }
  } catch (...) {  // no memory for the message: nothing is left to report with
  }
}

void WorkErrors::keep(Error error) noexcept {
  const std::lock_guard lock(mutex_);
  if (!first_) first_.emplace(std::move(error));
}

std::optional<Error> WorkErrors::take() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(first_, std::nullopt);
}

void WorkErrors::throw_kept() {
  if (const std::optional<Error> error = take()) throw *error;
}

}  // namespace gpuforge::device
