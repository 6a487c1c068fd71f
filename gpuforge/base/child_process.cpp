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
#include <utility>

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
[[noreturn]] void become(const char* program, char* const* arguments, int out, int err, int when_we_die) {
  ::prctl(PR_SET_PDEATHSIG, when_we_die);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(program, arguments);
  ::_exit(127);
}

// What execv wants: the program, its arguments, nullptr.
class ArgumentVector {
 public:
  ArgumentVector(const std::filesystem::path& program, const std::vector<std::string>& arguments)
      : owned_{program.string()} {
    owned_.insert(owned_.end(), arguments.begin(), arguments.end());
    for (std::string& argument : owned_) pointers_.push_back(argument.data());
    pointers_.push_back(nullptr);
  }
  const char* program() const { return owned_[0].c_str(); }
  char* const* pointers() const { return pointers_.data(); }

 private:
  std::vector<std::string> owned_;
  std::vector<char*> pointers_;
};

void set_ending(ChildResult& result, int status) {
  const bool crashed = WIFSIGNALED(status);
  result.end = crashed ? ChildResult::End::crashed : ChildResult::End::exited;
  result.code = crashed ? WTERMSIG(status) : WEXITSTATUS(status);
}

void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ::ssize_t written = ::write(to, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;  // whoever read it has gone; the program goes on
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
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
  const ArgumentVector command(program, arguments);
  Pipe out;
  Pipe err;
  const auto deadline = Clock::now() + limit;
  const ::pid_t child = out.read_end < 0 || err.read_end < 0 ? -1 : ::fork();
  if (child < 0) {
    result.code = errno;
    return result;
  }
  if (child == 0) become(command.program(), command.pointers(), out.write_end, err.write_end, SIGKILL);
  Pipe::close_end(out.write_end);
  Pipe::close_end(err.write_end);
  read_until(deadline, out, err, result);
  int status = 0;
  if (!wait_until(deadline, child, status)) {
    result.end = ChildResult::End::timed_out;
    ::kill(child, SIGKILL);
    wait_until(Clock::now() + std::chrono::seconds(1), child, status);
  } else {
    set_ending(result, status);
  }
  return result;
}

WatchedChild::WatchedChild(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                           int out, int err)
    : targets_{out, err} {
  const ArgumentVector command(program, arguments);
  Pipe out_pipe;
  Pipe err_pipe;
  pid_ = out_pipe.read_end < 0 || err_pipe.read_end < 0 ? -1 : ::fork();
  if (pid_ < 0) {
    result_.code = errno;
    ended_ = true;
    return;
  }
  if (pid_ == 0) {
    ::setpgid(0, 0);
    become(command.program(), command.pointers(), out_pipe.write_end, err_pipe.write_end, SIGTERM);
  }
  ::setpgid(pid_, pid_);  // whoever comes first
  std::swap(streams_[0], out_pipe.read_end);
  std::swap(streams_[1], err_pipe.read_end);
}

WatchedChild::~WatchedChild() {
  if (!ended_) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (int& stream : streams_) Pipe::close_end(stream);
}

void WatchedChild::pass_on(int from, int to, std::string& kept) const {
  std::string piece;
  drain(from, piece);
  write_all(to, piece);
  kept += piece;
  if (kept.size() > 2 * kKeptBytes) kept.erase(0, kept.size() - kKeptBytes);
}

ChildResult WatchedChild::wait() {
  constexpr int kLookMs = 50;
  bool gone = ended_;
  while (true) {
    std::array<pollfd, 2> wait = {pollfd{streams_[0], POLLIN, 0}, pollfd{streams_[1], POLLIN, 0}};
    const int ready = ::poll(wait.data(), wait.size(), gone ? 0 : kLookMs);
    bool more = false;
    for (std::size_t i = 0; ready > 0 && i < wait.size(); ++i) {
      if ((wait[i].revents & POLLIN) != 0) {
        pass_on(streams_[i], targets_[i], result_.out);
        more = true;
      } else if (wait[i].revents != 0) {
        Pipe::close_end(streams_[i]);
      }
    }
    // What it started may hold the streams open for ever: its own end is the end.
    if (gone && !more) break;
    int status = 0;
    if (!gone && ::waitpid(pid_, &status, WNOHANG) == pid_) {
      set_ending(result_, status);
      gone = true;
    }
  }
  ended_ = true;
  if (result_.out.size() > kKeptBytes) result_.out.erase(0, result_.out.size() - kKeptBytes);
  return result_;
}

void WatchedChild::end(int signal, std::chrono::milliseconds limit) {
  if (ended_) return;
  ::kill(-pid_, signal);
  for (const auto deadline = Clock::now() + limit; !ended_ && Clock::now() < deadline;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (!ended_) ::kill(-pid_, SIGKILL);
}

}  // namespace gpuforge
