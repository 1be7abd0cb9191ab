#include "control/daemon_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "control/command_message.h"

namespace tutti::control {
namespace {

constexpr int kWaitForEndMs = 5000;
constexpr size_t kMostAnswerBytes = 256u << 20;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr int kLastMs = 100;

bool WaitReadable(int fd, int timeout_ms) {
  pollfd wait{fd, POLLIN, 0};
  int ready;
  do {
    ready = poll(&wait, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

Result<DaemonConnection> DaemonConnection::Open(const Places& places, int patience_ms, AfterPatience then) {
  auto socket = os::Connect(places.control_socket(), patience_ms);
  if (!socket) {
    return Fail(
        fmt::format("no control daemon answers in {} ({}): start one with `tutti-control -d`, or set "
                    "CUDA_MPS_PIPE_DIRECTORY to the directory of a running one",
                    places.pipe_directory, socket.error().text));
  }
  // The listener's identity, from the kernel. Taken now, while the daemon certainly runs.
  const auto peer = os::Peer(socket->get());
  const pid_t pid = peer ? peer->pid : 0;
  os::Fd process;
  if (pid > 0) process = os::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  DaemonConnection connection(places, std::move(*socket), std::move(process), pid, patience_ms, then);
  if (peer) connection.daemon_uid_ = peer->uid;
  return connection;
}

Result<Answer> DaemonConnection::Run(std::string_view line) {
  if (!socket_) return Fail("the connection to the control daemon has failed before: open another one");
  auto answer = Exchange(line);
  if (!answer) socket_.Reset();
  return answer;
}

Status DaemonConnection::AwaitPacket(std::string_view line, int64_t deadline_ms) {
  if (patience_ms_ < 0) return {};
  const int64_t left_ms = deadline_ms - NowMs();
  // Also one who sends without end is late.
  if ((left_ms >= 0 || then_ == AfterPatience::kAskWhetherItLives) &&
      WaitReadable(socket_.get(), static_cast<int>(std::max<int64_t>(0, left_ms))))
    return {};
  if (then_ == AfterPatience::kAskWhetherItLives) {
    do {
      auto second = Open(places_, patience_ms_);
      if (!second || !second->Run("help help")) {
        if (WaitReadable(socket_.get(), kLastMs)) return {};  // it has answered or ended by now
        break;
      }
      if (WaitReadable(socket_.get(), patience_ms_)) return {};
    } while (true);
  }
  return Fail(
      fmt::format("the control daemon (process {}) has not answered \"{}\" within {} ms: it hangs, or is stopped",
                  daemon_pid_, line, patience_ms_));
}

Result<Answer> DaemonConnection::Exchange(std::string_view line) {
  TUTTI_TRY(os::Send(socket_.get(), PackCommand(next_serial_++, line)));
  const int64_t deadline_ms = NowMs() + patience_ms_;
  Answer answer;
  for (;;) {
    TUTTI_TRY(AwaitPacket(line, deadline_ms));
    TUTTI_ASSIGN(os::Message message, os::Receive(socket_.get()));
    if (message.bytes.empty()) return Fail("the control daemon closed the connection before it had answered");
    TUTTI_ASSIGN(const CommandReply reply, ReadCommandReply(message.bytes));
    answer.text += reply.text;
    if (answer.text.size() > kMostAnswerBytes) return Fail("the control daemon answers without end");
    for (os::Fd& file : message.fds) answer.files.push_back(std::move(file));
    if (reply.more) continue;
    answer.exit_status = reply.exit_status;
    answer.ending = reply.ending;
    return answer;
  }
}

void DaemonConnection::WaitForEnd() {
  // The kernel closes the daemon's end of the connection a little before the process is gone.
  if (socket_) WaitReadable(socket_.get(), patience_ms_);
  if (process_) WaitReadable(process_.get(), kWaitForEndMs);
  // A dead process stays in the process list until its parent reaps it, which never happens in a container whose first
  // process is no init.
  for (int waited_ms = 0; daemon_pid_ > 0 && kill(daemon_pid_, 0) == 0 && waited_ms < 100; waited_ms += 2) usleep(2000);
}

}  // namespace tutti::control
