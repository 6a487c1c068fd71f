#include "gpuforge/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "gpuforge/base/format.h"

namespace gpuforge {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
      read_end = ends[0];
      write_end = ends[1];
    }
  }
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

// Only calls that are safe between fork and exec.
[[noreturn]] void become(const char* program, char* const* arguments, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(program, arguments);
  ::_exit(127);
}

// False at the end of the stream.
bool drain(int from, std::string& into) {
  std::array<char, 4096> buffer;
  const ::ssize_t got = ::read(from, buffer.data(), buffer.size());
  if (got > 0) into.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

void read_until(Clock::time_point deadline, Pipe& out, Pipe& err, ChildResult& result) {
  while (out.read_end >= 0 || err.read_end >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return;
    std::array<pollfd, 2> wait = {pollfd{out.read_end, POLLIN, 0}, pollfd{err.read_end, POLLIN, 0}};
    ::poll(wait.data(), wait.size(), static_cast<int>(std::min<long long>(left, 1000)));
    if (wait[0].revents != 0 && !drain(out.read_end, result.out)) Pipe::close_end(out.read_end);
    if (wait[1].revents != 0 && !drain(err.read_end, result.err)) Pipe::close_end(err.read_end);
  }
}

// True when the child has ended before the deadline.
bool wait_until(Clock::time_point deadline, ::pid_t child, int& status) {
  while (true) {
    const ::pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return ended == child;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

std::string describe(const ChildResult& result, std::chrono::milliseconds limit) {
  switch (result.end) {
    case ChildResult::End::exited:
      return format_text("exit code {}", result.code);
    case ChildResult::End::crashed:
      return format_text("ended by signal {} ({})", result.code, ::strsignal(result.code));
    case ChildResult::End::timed_out:
      return format_text("gave no answer in {} s", static_cast<double>(limit.count()) / 1000.0);
    case ChildResult::End::not_started:
      break;
  }
  return format_text("could not be started: {}", std::strerror(result.code));
}

ChildResult run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                      std::chrono::milliseconds limit) {
  ChildResult result;
  std::vector<std::string> owned = {program.string()};
  owned.insert(owned.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : owned) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  Pipe out;
  Pipe err;
  const auto deadline = Clock::now() + limit;
  const ::pid_t child = out.read_end < 0 || err.read_end < 0 ? -1 : ::fork();
  if (child < 0) {
    result.code = errno;
    return result;
  }
  if (child == 0) become(owned[0].c_str(), pointers.data(), out.write_end, err.write_end);
  Pipe::close_end(out.write_end);
  Pipe::close_end(err.write_end);
  read_until(deadline, out, err, result);
  int status = 0;
  if (!wait_until(deadline, child, status)) {
    result.end = ChildResult::End::timed_out;
    ::kill(child, SIGKILL);
    wait_until(Clock::now() + std::chrono::seconds(1), child, status);
  } else if (WIFSIGNALED(status)) {
    result.end = ChildResult::End::crashed;
    result.code = WTERMSIG(status);
  } else {
    result.end = ChildResult::End::exited;
    result.code = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace gpuforge
