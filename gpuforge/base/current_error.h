// What is being handled, as an Error: for a catch (...) whose failure is told to somebody else later.
#pragma once

#include <exception>
#include <new>

#include "gpuforge/base/error.h"

namespace gpuforge {

inline Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::out_of_memory, "the host is out of memory");
  } catch (const std::exception& error) {
    return Error(ErrorCode::internal, error.what());
  } catch (...) {
    return Error(ErrorCode::internal, "something that is no std::exception was thrown");
  }
}

}  // namespace gpuforge
