// Background start: the parent forks and waits on a pipe. The child does everything that can fail, the listening socket
// last, then detaches from the terminal and the parent's descriptors (a caller that reads our output to its end must
// not wait for the daemon) and reports through the pipe: nothing for success, else the line for the user. So when the
// parent returns 0, the socket accepts.
#include "daemon/start.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/log.h"
#include "control/daemon_connection.h"
#include "control/open_files.h"
#include "control/report.h"
#include "daemon/apply_configuration.h"
#include "daemon/files/directory.h"
#include "daemon/life/service_manager.h"
#include "daemon/life/succession.h"

namespace tutti::daemon {
namespace {

constexpr char kReady = '\1';
constexpr int kPatience_ms = 1000;  // for a running daemon, which may hang

// If the log directory is unusable, the log goes to the pipe directory, and a line tells the user.
Status OpenLog(control::Places& places) {
  const Status usable = geteuid() == 0 ? MakeTrustedDirectory(places.log_directory, "CUDA_MPS_LOG_DIRECTORY")
                                       : MakeDirectory(places.log_directory);
  if (usable && log::Open(places.control_log(), "Control")) return {};
  const std::string why =
      usable ? FailErrno(fmt::format("cannot write {} (a log is a file of ours, no link: remove what is there)",
                                     places.control_log()))
                   .error()
                   .text
             : usable.error().text;
  std::fprintf(stderr, "%s; the logs go to %s\n", why.c_str(), places.pipe_directory.c_str());
  places.log_directory = places.pipe_directory;
  if (!log::Open(places.control_log(), "Control")) return FailErrno("cannot write " + places.control_log());
  return {};
}

Result<std::unique_ptr<ControlDaemon>> CreateDaemon(DaemonOptions options, Inheritance inheritance) {
  TUTTI_ASSIGN(auto loop, EventLoop::Create());
  TUTTI_ASSIGN(Instance instance, Instance::Claim(options.places, std::move(inheritance)));
  TUTTI_TRY(OpenLog(options.places));
  if (const Status safe = CheckDirectory(options.places.pipe_directory, "CUDA_MPS_PIPE_DIRECTORY"); !safe) {
    log::Warning("Another daemon could be put in the place of this one: {}", safe.error().text);
  }
  return std::make_unique<ControlDaemon>(std::move(loop), std::move(instance), std::move(options));
}

// Not after an upgrade, nor after a daemon that was killed: the configuration file applies once, at the start.
Result<std::unique_ptr<ControlDaemon>> CreateNewDaemon(const DaemonOptions& options, Inheritance inheritance) {
  TUTTI_TRY(control::RaiseOpenFiles());  // inherited by servers
  control::Configuration configuration;
  if (!options.configuration.empty()) {
    TUTTI_ASSIGN(configuration, control::ReadConfiguration(options.configuration));
  }
  TUTTI_ASSIGN(auto daemon, CreateDaemon(options, std::move(inheritance)));
  if (daemon->AdoptAfterDeath()) {
    std::fputs(
        "the previous daemon was killed: this one continues with its settings and servers (without them: --fresh)\n",
        stderr);
  } else {
    TUTTI_TRY(ApplyConfiguration(daemon->context(), configuration));
  }
  return daemon;
}

// One line for the user: "already running" on stdout, where scripts read it; errors on stderr.
int Complain(const std::string& text) {
  std::fprintf(text == kAlreadyRunning ? stdout : stderr, "%s\n", text.c_str());
  return 1;
}

// A user who starts a daemon with -M and finds one running must learn whether that one is multi-user.
void TellDifference(const DaemonOptions& wanted) {
  auto running = control::DaemonConnection::Open(wanted.places, kPatience_ms);
  if (!running) return;
  const auto report = control::FetchReport(*running);
  if (!report || !report->multi_user || *report->multi_user == wanted.multi_user) return;
  const char* const was = *report->multi_user ? "with -M" : "without -M";
  std::fprintf(stderr, "it (process %u) was started %s, and stays so: to change that, stop it with `quit` first\n",
               report->daemon_pid, was);
}

int CannotServe(const DaemonOptions& options, const std::string& why) {
  const int status = Complain(why);
  if (why == kAlreadyRunning) TellDifference(options);
  return status;
}

void LeaveTerminal() {
  [[maybe_unused]] const int moved = chdir("/");
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  if (null > STDERR_FILENO) close(null);
}

// Closes the caller's descriptors: a pipe whose reader waits for end of file, a lock that belongs to a job.
void CloseAllBut(int kept) {
  if (kept > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, static_cast<unsigned>(kept) - 1, 0);
  close_range(static_cast<unsigned>(kept) + 1, ~0u, 0);
}

[[noreturn]] void ServeInChild(const DaemonOptions& options, int verdict) {
  setsid();
  CloseAllBut(verdict);
  auto daemon = CreateNewDaemon(options, {});
  const std::string text = daemon ? std::string(1, kReady) : daemon.error().text;
  if (daemon) LeaveTerminal();
  [[maybe_unused]] const ssize_t written = write(verdict, text.data(), text.size());
  close(verdict);
  if (!daemon) _exit(1);
  const int status = (*daemon)->Run();
  daemon->reset();  // removes the files
  _exit(status);
}

// Sockets of a service manager, if it has passed any.
Inheritance FromManager() {
  auto sockets = TakePassedSockets();
  const bool any = !sockets.empty();
  return {.sockets = std::move(sockets), .of_manager = any};
}

// After an upgrade in place: no parent waits for the result.
int GoOn(const DaemonOptions& options, Succession succession) {
  auto daemon = CreateDaemon(options, std::move(succession.inheritance));
  if (!daemon) return Complain(daemon.error().text);
  (*daemon)->TakeOver(std::move(succession));
  return (*daemon)->Run();
}

std::string ReadAll(int fd) {
  std::string text;
  char bytes[1024];
  for (ssize_t count; (count = read(fd, bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<size_t>(count));
  return text;
}

}  // namespace

int StartInBackground(const DaemonOptions& options) {
  auto succession = TakeSuccession();
  if (!succession) return Complain(succession.error().text);
  if (*succession) return GoOn(options, std::move(**succession));
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return Complain(FailErrno("pipe").error().text);
  const pid_t child = fork();
  if (child < 0) return Complain(FailErrno("fork").error().text);
  if (child == 0) {
    close(pipe_fds[0]);
    ServeInChild(options, pipe_fds[1]);
  }
  close(pipe_fds[1]);
  const std::string verdict = ReadAll(pipe_fds[0]);
  if (verdict == std::string(1, kReady)) {
    if (options.protocol == 3) {
      std::printf("To connect CUDA applications to this daemon, set CUDA_MPS_PIPE_DIRECTORY=%s\n",
                  options.places.pipe_directory.c_str());
    }
    return 0;
  }
  return CannotServe(
      options, verdict.empty() ? fmt::format("the daemon ended while it started: see {}", options.places.control_log())
                               : verdict);
}

int RunInForeground(const DaemonOptions& options) {
  log::Echo(STDOUT_FILENO);
  auto succession = TakeSuccession();
  if (!succession) return Complain(succession.error().text);
  if (*succession) return GoOn(options, std::move(**succession));
  auto daemon = CreateNewDaemon(options, FromManager());
  if (!daemon) return CannotServe(options, daemon.error().text);
  return (*daemon)->Run();
}

}  // namespace tutti::daemon
