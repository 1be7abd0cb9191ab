#include "daemon/files/instance.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "daemon/files/directory.h"
#include "daemon/files/inherited_sockets.h"
#include "os/fifo.h"
#include "os/socket.h"

namespace tutti::daemon {
namespace {

constexpr const char* kVariable = "CUDA_MPS_PIPE_DIRECTORY";
constexpr mode_t kControlMode = 0666, kPrivilegedMode = 0755, kFifoMode = 0777;

// Others may have write access to the directory (a user's daemon in /tmp): never follow a link there.
Result<os::Fd> CreateFile(const std::string& path, int flags, mode_t mode) {
  os::Fd fd(open(path.c_str(), flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode));
  if (!fd) {
    return FailErrno(
        fmt::format("cannot create {} (make its directory writable for user {}, or set "
                    "CUDA_MPS_PIPE_DIRECTORY to another one)",
                    path, geteuid()));
  }
  struct stat info{};
  fstat(fd.get(), &info);
  if (!S_ISREG(info.st_mode)) return Fail(path + " is not a regular file: remove it");
  if (info.st_uid == geteuid()) fchmod(fd.get(), mode);  // whatever the umask removed, or an older program set
  return fd;
}

bool SomebodyListens(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  const os::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  return errno != ECONNREFUSED && errno != ENOENT;  // a stopped daemon may have a full queue
}

// A daemon that was just killed keeps its lock and sockets until the kernel has released what it opened after them,
// above all its inotify descriptor, which waits for an RCU grace period: 8 to 16 ms on an idle machine. Its servers may
// be gone by then, since they are signalled first.
bool LockSoon(int file) {
  constexpr int kTries = 30;
  for (int i = 0; i < kTries; ++i) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) return false;
    usleep(10'000);
  }
  errno = EWOULDBLOCK;
  return false;
}

// A daemon listens as soon as it holds the lock. A holder that does not listen opened the file while its mode allowed
// it, and holds the lock to keep daemons out.
bool ADaemonHoldsIt(const std::string& control_socket) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    if (SomebodyListens(control_socket)) return true;
    usleep(100'000);
  }
  return false;
}

// A lock file left by another user's daemon in a directory that is now ours: we can remove it, but not open it.
bool IsClosedToUs(const std::string& lock_file) {
  struct stat info{};
  return lstat(lock_file.c_str(), &info) == 0 && info.st_uid != geteuid() &&
         euidaccess(lock_file.c_str(), R_OK | W_OK) != 0;
}

// Whether `path` no longer names the open `file`. A file whose identity is unknown counts as not replaced.
bool Replaced(const std::string& path, int file) {
  const os::FileId held = os::FileId::Of(file);
  return held && os::FileId::At(path) != held;
}

}  // namespace

Result<Instance> Instance::Claim(const control::Places& places, Inheritance inheritance) {
  // Not at an upgrade: the previous program of this process has served here, and its clients are connected.
  const bool must_trust = !inheritance.lock && geteuid() == 0;
  TUTTI_TRY(must_trust ? MakeTrustedDirectory(places.pipe_directory, kVariable) : MakeDirectory(places.pipe_directory));
  Instance instance(places);
  instance.of_manager_ = inheritance.of_manager;
  instance.lock_ = std::move(inheritance.lock);
  if (!instance.lock_) TUTTI_TRY(instance.TakeLock());
  TUTTI_TRY(instance.CreateFiles(std::move(inheritance.sockets)));
  return instance;
}

Status Instance::TakeLock() {
  if (IsClosedToUs(places_.lock_file()) && !SomebodyListens(places_.control_socket()))
    unlink(places_.lock_file().c_str());
  for (const bool again : {false, true}) {
    TUTTI_ASSIGN(os::Fd lock, CreateFile(places_.lock_file(), O_RDWR, 0600));
    if (LockSoon(lock.get())) {
      lock_ = std::move(lock);
      return {};
    }
    if (errno != EWOULDBLOCK) return FailErrno("lock of " + places_.lock_file());
    if (again || ADaemonHoldsIt(places_.control_socket()) ||
        os::FileId::At(places_.lock_file()) != os::FileId::Of(lock.get()))
      break;
    log::Warning("{} is locked, but no daemon listens there: the file is recreated", places_.lock_file());
    unlink(places_.lock_file().c_str());
  }
  return Fail(kAlreadyRunning);
}

Status Instance::WritePid() {
  unlink(places_.pid_file().c_str());
  TUTTI_ASSIGN(const os::Fd pid_file, CreateFile(places_.pid_file(), O_WRONLY | O_TRUNC, 0644));
  const std::string pid = fmt::format("{}\n", getpid());
  if (write(pid_file.get(), pid.data(), pid.size()) < 0) return FailErrno("write to " + places_.pid_file());
  return {};
}

Result<Instance::Listener> Instance::ListenAt(const std::string& path, mode_t mode, std::vector<os::Fd>& inherited) {
  Listener listener;
  if (auto socket = TakeInherited(path, inherited)) {
    TUTTI_ASSIGN(os::Fd passed, std::move(*socket));
    listener.socket = os::StrangersFd(std::move(passed));
  } else {
    TUTTI_ASSIGN(os::Fd made, os::Listen(path, mode));
    listener.socket = os::StrangersFd(std::move(made));
  }
  listener.file = os::FileId::At(path);
  return listener;
}

Status Instance::CreateFiles(std::vector<os::Fd> sockets) {
  TUTTI_ASSIGN(log_fifo_, os::MakeFifo(places_.log_fifo(), kFifoMode));
  TUTTI_TRY(WritePid());
  TUTTI_ASSIGN(privileged_, ListenAt(places_.privileged_socket(), kPrivilegedMode, sockets));
  // Last, so that a client that can connect finds everything else in place.
  TUTTI_ASSIGN(control_, ListenAt(places_.control_socket(), kControlMode, sockets));
  for (os::Fd& socket : sockets) {
    if (socket) other_sockets_.push_back(std::move(socket));
  }
  return {};
}

Status Instance::PutBack(const std::function<void(int)>& closing, LogBudget& log) {
  std::vector<os::Fd> none;
  TUTTI_TRY(geteuid() == 0 ? MakeTrustedDirectory(places_.pipe_directory, kVariable)
                           : MakeDirectory(places_.pipe_directory));
  if (Replaced(places_.lock_file(), lock_.get())) TUTTI_TRY(TakeLock());
  if (Replaced(places_.log_fifo(), log_fifo_.get())) {
    TUTTI_ASSIGN(os::Fd fifo, os::MakeFifo(places_.log_fifo(), kFifoMode));
    closing(log_fifo_.get());
    log_fifo_ = std::move(fifo);
  }
  if (!os::FileId::At(places_.pid_file())) TUTTI_TRY(WritePid());
  const std::pair<Listener*, std::string> listeners[] = {{&privileged_, places_.privileged_socket()},
                                                         {&control_, places_.control_socket()}};
  for (const auto& [listener, path] : listeners) {
    if (os::FileId::At(path) == listener->file) continue;
    TUTTI_ASSIGN(Listener fresh, ListenAt(path, listener == &control_ ? kControlMode : kPrivilegedMode, none));
    closing(listener->socket.get());
    *listener = std::move(fresh);
    log.Warning(kRemoved, "{} was removed or replaced: the daemon has recreated it", path);
  }
  return {};
}

Instance::~Instance() {
  if (!lock_) return;  // moved from, or never the owner of these files
  for (const std::string& path : {places_.log_fifo(), places_.pid_file()}) unlink(path.c_str());
  if (of_manager_) return;
  for (const std::string& path : {places_.control_socket(), places_.privileged_socket()}) unlink(path.c_str());
}

}  // namespace tutti::daemon
