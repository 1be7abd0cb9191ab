// Between fork and exec the child drops everything of the daemon's: groups and user ids before anything is executed,
// signals, environment variables of root's session. (The daemon's other thread does nothing but close, so the child may
// allocate and look users up; a slow directory service holds up that server, not the daemon.) A server that is to die
// with the daemon sets PR_SET_PDEATHSIG only after changing its user, because the kernel clears it on a change of
// credentials.
#include "daemon/servers/server_launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/log_file.h"
#include "os/program.h"
#include "os/socket.h"

extern char** environ;

namespace tutti::daemon {
namespace {

constexpr int kChannelFd = 3, kRendezvousFd = 4;  // in the server
constexpr gid_t kNoGroup = 65534;
constexpr int kCannotExecute = 127;

// The name under which NVIDIA's tools and users look for servers in a process list, if that link exists.
std::string ServerProgram() {
  const std::string directory = os::ProgramDirectory();
  const std::string alias = directory + "/nvidia-cuda-mps-server";
  return access(alias.c_str(), F_OK) == 0 ? alias : directory + "/tutti-server";
}

// Another user's server gets the variables about CUDA and locale, not those of root's session. Its code cache is in its
// user's home, never in a folder that root has named for itself.
bool ForOtherUsers(std::string_view entry) {
  if (entry.starts_with("TUTTI_CACHE_DIR=")) return false;
  for (const std::string_view prefix :
       {"CUDA_", "TUTTI_", "TZ=", "LANG=", "LC_", "PATH=", "LD_LIBRARY_PATH=", "ASAN_", "LSAN_", "TSAN_", "UBSAN_"}) {
    if (entry.starts_with(prefix)) return true;
  }
  return false;
}

std::vector<std::string> ServerEnvironment(const control::Places& places, const ServerPlan& plan) {
  const bool other_user = plan.uid != geteuid();
  std::vector<std::string> entries{"CUDA_MPS_PIPE_DIRECTORY=" + places.pipe_directory,
                                   "CUDA_MPS_LOG_DIRECTORY=" + places.log_directory};
  if (!plan.visible_devices.empty()) entries.push_back("CUDA_VISIBLE_DEVICES=" + plan.visible_devices);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("CUDA_MPS_PIPE_DIRECTORY=") || text.starts_with("CUDA_MPS_LOG_DIRECTORY=")) continue;
    if (!plan.visible_devices.empty() && text.starts_with("CUDA_VISIBLE_DEVICES=")) continue;
    if (!other_user || ForOtherUsers(text)) entries.emplace_back(text);
  }
  return entries;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child.

[[noreturn]] void GiveUp(const std::string& what) {
  const std::string line = FailErrno(what).error().text + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  _exit(kCannotExecute);
}

// Adds the user's own HOME to `environment`.
void BecomeUser(uid_t uid, std::vector<std::string>& environment) {
  if (uid == geteuid()) return;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(64 * 1024);
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    if (initgroups(found->pw_name, found->pw_gid) != 0) GiveUp("initgroups");
    if (setresgid(found->pw_gid, found->pw_gid, found->pw_gid) != 0) GiveUp("setresgid");
    environment.push_back(std::string("HOME=") + found->pw_dir);
  } else {
    if (setgroups(0, nullptr) != 0) GiveUp("setgroups");
    if (setresgid(kNoGroup, kNoGroup, kNoGroup) != 0) GiveUp("setresgid");
  }
  if (setresuid(uid, uid, uid) != 0) GiveUp("setresuid");
}

void DieWithDaemon(pid_t daemon) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) GiveUp("prctl(PR_SET_PDEATHSIG)");
  if (getppid() != daemon) _exit(1);  // it died before PR_SET_PDEATHSIG was set
}

void ResetSignals() {
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Each may itself be one of these numbers; it is moved away before that number is overwritten.
void ArrangeDescriptors(int channel, int log, int rendezvous) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  channel = fcntl(channel, F_DUPFD_CLOEXEC, 10);
  if (rendezvous >= 0) rendezvous = fcntl(rendezvous, F_DUPFD_CLOEXEC, 10);
  log = fcntl(log < 0 ? null : log, F_DUPFD_CLOEXEC, 10);
  if (dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
    _exit(kCannotExecute);
  if (dup2(channel, kChannelFd) < 0) GiveUp("dup2");
  // A daemon in the foreground has inherited its caller's descriptors, which the server's user must not get.
  close_range(kChannelFd + 1, ~0u, CLOSE_RANGE_CLOEXEC);
  if (rendezvous >= 0 && dup2(rendezvous, kRendezvousFd) < 0) GiveUp("dup2");
}

}  // namespace

std::string LogOf(const control::Places& places, const ServerPlan& plan) {
  return plan.log_file.empty() ? places.server_log() : plan.log_file;
}

os::Fd OpenServerLog(const control::Places& places, const ServerPlan& plan) {
  const std::string path = LogOf(places, plan);
  os::Fd file(log::OpenFile(path));
  if (!file) log::Error("The log of server {} is lost: {}", plan.name, FailErrno("cannot write " + path).error().text);
  return file;
}

Result<LaunchedServer> LaunchServer(const control::Places& places, const ServerPlan& plan, int rendezvous) {
  const uid_t uid = plan.uid;
  if (uid != geteuid() && geteuid() != 0) {
    return Fail(fmt::format(
        "this daemon runs as user {} and cannot start a server for user {}: start the daemon as root", geteuid(), uid));
  }
  std::vector<std::string> arguments{ServerProgram(), "--daemon-socket-fd", std::to_string(kChannelFd)};
  if (rendezvous >= 0) arguments.insert(arguments.end(), {"--rendezvous-fd", std::to_string(kRendezvousFd)});
  std::vector<std::string> environment = ServerEnvironment(places, plan);
  const os::Fd log = OpenServerLog(places, plan);
  TUTTI_ASSIGN(auto sockets, os::SocketPair());
  os::RefuseDescriptors(sockets.first.get());

  const pid_t daemon = getpid();
  const pid_t pid = fork();
  if (pid < 0) return FailErrno("fork");
  if (pid == 0) {
    ResetSignals();
    setsid();
    ArrangeDescriptors(sockets.second.get(), log.get(), rendezvous);
    BecomeUser(uid, environment);
    if (rendezvous < 0) DieWithDaemon(daemon);
    execve(arguments[0].c_str(), Pointers(arguments).data(), Pointers(environment).data());
    GiveUp(fmt::format("cannot execute {} as user {} (its directories must be open to that user)", arguments[0], uid));
  }
  os::Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) {
    auto error = FailErrno("pidfd_open");
    kill(pid, SIGKILL);
    return error;
  }
  return LaunchedServer{.pid = pid, .process = std::move(process), .channel = std::move(sockets.first)};
}

}  // namespace tutti::daemon
