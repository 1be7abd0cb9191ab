// Stands in for a service manager: starts a program as systemd would, prints its notifications, and exits with its
// status.
//
//   fake_manager [--listen PATH] [--watchdog MICROSECONDS] -- PROGRAM ARGUMENT...
//
// --listen passes a listening socket (LISTEN_FDS). SIGTERM is forwarded to the program.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "os/socket.h"

namespace {

pid_t program = 0;

int NotifySocket(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 2);  // abstract
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0) std::exit(9);
  return fd;
}

[[noreturn]] void Become(char** command, int listener) {
  if (listener >= 0) {
    const int moved = dup(listener);  // it may be 3 itself, which exec would close
    close(3);
    dup2(moved, 3);
    close(moved);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  }
  if (std::getenv("WATCHDOG_USEC") != nullptr) setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  execv(command[0], command);
  _exit(127);
}

// Prints the notifications so far.
void Print(int notifications) {
  char text[4096];
  for (ssize_t size; (size = recv(notifications, text, sizeof text, MSG_DONTWAIT)) > 0;) {
    std::printf("%.*s\n", static_cast<int>(size), text);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int listener = -1;
  int at = 1;
  for (; at + 1 < argc && std::strcmp(argv[at], "--") != 0; at += 2) {
    if (std::strcmp(argv[at], "--watchdog") == 0) setenv("WATCHDOG_USEC", argv[at + 1], 1);
    if (std::strcmp(argv[at], "--listen") != 0) continue;
    auto socket = tutti::os::Listen(argv[at + 1], 0666);
    if (!socket) return 9;
    listener = socket->Release();
  }
  if (at + 1 >= argc) return 9;
  const std::string name = "tutti-fake-manager-" + std::to_string(getpid());
  const int notifications = NotifySocket(name);
  setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  program = fork();
  if (program == 0) Become(argv + at + 1, listener);
  signal(SIGTERM, [](int) { kill(program, SIGTERM); });
  for (int status = 0;;) {
    pollfd wait{notifications, POLLIN, 0};
    poll(&wait, 1, 50);
    const bool ended = waitpid(program, &status, WNOHANG) == program;
    Print(notifications);  // after the check whether it has ended, so that none is missed
    if (ended) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
}
