#include "gpuforge/base/parallel.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gpuforge {

void parallel_ranges(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& work) {
  if (count <= 0) return;
  const std::int64_t most = std::max<std::int64_t>(1, count / std::max<std::int64_t>(grain, 1));
  const std::int64_t machine = std::max(1u, std::thread::hardware_concurrency());
  const std::int64_t pieces = std::min(most, machine);
  if (pieces == 1) return work(0, count);

  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](std::int64_t piece) {
    try {
      // Multiplied in 128 bits: a count near 2^63 has pieces too.
      const auto cut = [&](std::int64_t at) {
        return static_cast<std::int64_t>(static_cast<__int128>(count) * at / pieces);
      };
      work(cut(piece), cut(piece + 1));
    } catch (...) {
      const std::lock_guard guard(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(pieces));
    std::int64_t started = 1;
    for (; started < pieces; ++started) {
      try {
        threads.emplace_back(run, started);
      } catch (const std::system_error&) {
        break;  // no more threads to be had: this one does the rest
      }
    }
    run(0);
    for (std::int64_t piece = started; piece < pieces; ++piece) run(piece);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gpuforge
