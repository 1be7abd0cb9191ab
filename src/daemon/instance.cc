#include "daemon/instance.h"

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
#include "os/socket.h"

namespace tutti::daemon {
namespace {

// The directory may be one that others can write to (/tmp/nvidia-mps made by somebody else): never follow a link there.
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
  if (info.st_uid == geteuid()) fchmod(fd.get(), mode);  // whatever the umask took away
  return fd;
}

Result<os::Fd> CreateFifo(const std::string& path, mode_t mode) {
  unlink(path.c_str());
  if (mkfifo(path.c_str(), mode) != 0) return FailErrno("mkfifo " + path);
  os::Fd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return FailErrno("open " + path);
  fchmod(fd.get(), mode);
  return fd;
}

// The inherited socket that is bound to `path`, made ours; else a new one.
Result<os::Fd> ListenAt(const std::string& path, mode_t mode, std::vector<os::Fd>& inherited) {
  for (os::Fd& socket : inherited) {
    sockaddr_un address{};
    socklen_t size = sizeof address;
    if (!socket || getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.sun_family != AF_UNIX ||
        path != std::string(address.sun_path, strnlen(address.sun_path, sizeof address.sun_path)))
      continue;
    int type = 0;
    size = sizeof type;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
      return Fail(fmt::format(
          "the socket given for {} is not of type SOCK_SEQPACKET: use ListenSequentialPacket= in its unit", path));
    }
    fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
    return std::move(socket);
  }
  return os::Listen(path, mode);
}

}  // namespace

void WarnOfForeignDirectory(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0 || info.st_uid == geteuid() || info.st_uid == 0) return;
  log::Warning("{} belongs to user {}, who can put another daemon in the place of this one", path, info.st_uid);
}

Status MakeDirectory(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0 && access(path.substr(0, slash).c_str(), F_OK) != 0) {
    TUTTI_TRY(MakeDirectory(path.substr(0, slash)));
  }
  if (mkdir(path.c_str(), 0755) == 0) {
    chmod(path.c_str(), 0755);
    return {};
  }
  if (errno != EEXIST) {
    return FailErrno(
        fmt::format("cannot make the directory {} (make what is above it writable for user {}, or choose another one)",
                    path, geteuid()));
  }
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return FailErrno("cannot look at " + path);
  if (!S_ISDIR(info.st_mode)) return Fail(fmt::format("{} is not a directory: remove it or choose another one", path));
  if (access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    return FailErrno(
        fmt::format("cannot use the directory {} as user {} (change its mode or choose another one)", path, geteuid()));
  }
  return {};
}

Result<Instance> Instance::Claim(const control::Places& places, Inheritance inheritance) {
  TUTTI_TRY(MakeDirectory(places.pipe_directory));
  Instance instance(places);
  instance.of_manager_ = inheritance.of_manager;
  instance.lock_ = std::move(inheritance.lock);
  if (!instance.lock_) TUTTI_TRY(instance.TakeLock());
  TUTTI_TRY(instance.CreateFiles(std::move(inheritance.sockets)));
  return instance;
}

Status Instance::TakeLock() {
  TUTTI_ASSIGN(os::Fd lock, CreateFile(places_.lock_file(), O_RDWR, 0666));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Fail(kAlreadyRunning);
    return FailErrno("lock of " + places_.lock_file());
  }
  lock_ = std::move(lock);
  return {};
}

Status Instance::CreateFiles(std::vector<os::Fd> sockets) {
  TUTTI_ASSIGN(log_fifo_, CreateFifo(places_.log_fifo(), 0777));
  unlink(places_.pid_file().c_str());
  TUTTI_ASSIGN(const os::Fd pid_file, CreateFile(places_.pid_file(), O_WRONLY | O_TRUNC, 0666));
  const std::string pid = fmt::format("{}\n", getpid());
  if (write(pid_file.get(), pid.data(), pid.size()) < 0) return FailErrno("write to " + places_.pid_file());
  TUTTI_ASSIGN(privileged_, ListenAt(places_.privileged_socket(), 0755, sockets));
  // Last: whoever can connect finds everything else in place.
  TUTTI_ASSIGN(control_, ListenAt(places_.control_socket(), 0666, sockets));
  return {};
}

Instance::~Instance() {
  if (!lock_) return;  // moved from, or never the owner of these files
  for (const std::string& path : {places_.log_fifo(), places_.pid_file()}) unlink(path.c_str());
  if (of_manager_) return;
  for (const std::string& path : {places_.control_socket(), places_.privileged_socket()}) unlink(path.c_str());
}

}  // namespace tutti::daemon
