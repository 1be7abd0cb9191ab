#include "control/daemon_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "control/command_message.h"

namespace tutti::control {
namespace {

constexpr int kWaitForEndMs = 5000;

void WaitReadable(int fd, int timeout_ms) {
  pollfd wait{fd, POLLIN, 0};
  poll(&wait, 1, timeout_ms);
}

}  // namespace

Result<DaemonConnection> DaemonConnection::Open(const Places& places) {
  auto socket = os::Connect(places.control_socket());
  if (!socket) {
    return Fail(fmt::format("no control daemon answers in {} ({}): start one with `tutti-control -d`, or set "
                            "CUDA_MPS_PIPE_DIRECTORY to the directory of a running one",
                            places.pipe_directory, socket.error().text));
  }
  // The kernel's word for who listens on the socket. Taken now, while the daemon certainly runs.
  const auto peer = os::Peer(socket->get());
  const pid_t pid = peer ? peer->pid : 0;
  os::Fd process;
  if (pid > 0) process = os::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  return DaemonConnection(std::move(*socket), std::move(process), pid);
}

Result<Answer> DaemonConnection::Run(std::string_view line) {
  TUTTI_TRY(os::Send(socket_.get(), PackCommand(next_serial_++, line)));
  Answer answer;
  for (;;) {
    TUTTI_ASSIGN(os::Message message, os::Receive(socket_.get()));
    if (message.bytes.empty()) return Fail("the control daemon closed the connection before it had answered");
    TUTTI_ASSIGN(const CommandReply reply, ReadCommandReply(message.bytes));
    answer.text += reply.text;
    for (os::Fd& file : message.fds) answer.files.push_back(std::move(file));
    if (reply.more) continue;
    answer.exit_status = reply.exit_status;
    answer.ending = reply.ending;
    return answer;
  }
}

void DaemonConnection::WaitForEnd() {
  // The kernel closes the daemon's end of the connection a little before the process is gone.
  WaitReadable(socket_.get(), -1);
  if (process_) WaitReadable(process_.get(), kWaitForEndMs);
  // A dead process stays in the process list until its parent has collected it. Where nobody collects (a container whose
  // first process is no init) that never happens.
  for (int waited_ms = 0; daemon_pid_ > 0 && kill(daemon_pid_, 0) == 0 && waited_ms < 100; waited_ms += 2) usleep(2000);
}

}  // namespace tutti::control
