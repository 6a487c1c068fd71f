#include "cli/interrupt.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace gpuforge::cli {
namespace {

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

InterruptWatcher::InterruptWatcher() {
  // A closed pipe is an error of write(), not a signal.
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  ::sigemptyset(&set);
  for (int number : kEnding) {
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) ::sigaddset(&set, number);
  }
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || stop_ < 0) return;  // the signals keep their default: the program just ends
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { watch(); });
}

InterruptWatcher::~InterruptWatcher() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ::ssize_t ignored = ::write(stop_, &one, sizeof one);
    thread_.join();
  }
  if (signals_ >= 0) ::close(signals_);
  if (stop_ >= 0) ::close(stop_);
}

void InterruptWatcher::add_cleanup(std::function<void()> cleanup) {
  const std::lock_guard lock(cleanups_guard_);
  cleanups_.push_back(std::move(cleanup));
}

void InterruptWatcher::watch() {
  int ending = 0;  // the signal that came
  while (true) {
    std::array<pollfd, 2> wait = {pollfd{signals_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    // Once a signal came, look every few milliseconds whether the file being written is done.
    ::poll(wait.data(), wait.size(), ending == 0 ? -1 : 5);
    if ((wait[1].revents & POLLIN) != 0) return;
    if ((wait[0].revents & POLLIN) != 0) {
      signalfd_siginfo info{};
      if (::read(signals_, &info, sizeof info) == static_cast<::ssize_t>(sizeof info)) {
        const bool second = ending != 0;
        ending = static_cast<int>(info.ssi_signo);
        if (second) ::_exit(128 + ending);
      }
    }
    if (ending != 0 && writing_.try_lock()) {
      const std::lock_guard lock(cleanups_guard_);
      for (const auto& cleanup : cleanups_) cleanup();
      ::_exit(128 + ending);
    }
  }
}

}  // namespace gpuforge::cli
