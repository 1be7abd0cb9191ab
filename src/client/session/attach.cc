// Finding a server. Two cases must not be confused: without a daemon a private server is right; with a daemon that
// cannot serve, a private server would hide the failure and escape the daemon's limits. So only three things mean that
// there is no daemon: a missing pipe directory, a directory without a socket, and a stale socket that refuses
// connections, as a killed daemon leaves it behind. In every other case the error goes to the program.
#include "client/session/attach.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "client/base/environment.h"
#include "client/session/mps_environment.h"
#include "client/session/private_server.h"
#include "cuda/result.h"
#include "os/socket.h"

namespace tutti::client {
namespace {

constexpr const char* kDefaultPipeDirectory = "/tmp/nvidia-mps";
// The daemon may have to start a server first.
constexpr int kAttachTimeoutMs = 60'000;
constexpr size_t kMostCommandLine = 1024;

std::string CommandLine() {
  const os::Fd file(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  std::string text(kMostCommandLine, '\0');
  const ssize_t length = file ? read(file.get(), text.data(), text.size()) : -1;
  text.resize(length > 0 ? static_cast<size_t>(length) : 0);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  return text;
}

wire::Hello MakeHello() {
  wire::Hello hello;
  hello.claimed_pid = static_cast<uint32_t>(getpid());
  struct stat space{};
  if (stat("/proc/self/ns/pid", &space) == 0) hello.pid_namespace = space.st_ino;
  hello.command_line = CommandLine();
  AskForLimits(&hello);
  hello.visible_devices = Environment("CUDA_VISIBLE_DEVICES");
  return hello;
}

std::unexpected<Error> BadDirectory(const std::string& directory, std::string_view why) {
  return Fail(cuda::CUDA_ERROR_MPS_CONNECTION_FAILED, fmt::format("CUDA_MPS_PIPE_DIRECTORY \"{}\" {}", directory, why));
}

// Whether the directory holds a daemon's socket.
Result<bool> HasDaemon(const std::string& directory) {
  const std::string path = directory + "/control";
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return BadDirectory(directory, fmt::format("is too long for a socket: {} bytes with \"/control\", {} are allowed",
                                               path.size(), sizeof(sockaddr_un::sun_path) - 1));
  }
  struct stat info{};
  if (stat(directory.c_str(), &info) != 0) {
    if (errno == ENOENT) return false;
    return BadDirectory(directory, fmt::format("cannot be used: {}", std::strerror(errno)));
  }
  if (!S_ISDIR(info.st_mode)) return BadDirectory(directory, "is not a directory");
  if (access(directory.c_str(), X_OK) != 0)
    return BadDirectory(directory, fmt::format("cannot be used: {}", std::strerror(errno)));
  return stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

// Whether the socket file is stale: its daemon is gone.
bool IsStale(const std::string& directory) {
  errno = 0;
  return !os::Connect(directory + "/control", kAttachTimeoutMs) && (errno == ECONNREFUSED || errno == ENOENT);
}

// Besides root and ourselves.
std::vector<uid_t> TrustedUsers() {
  std::vector<uid_t> users;
  const std::string text = Environment(ipc::kTrustVariable);
  if (text.empty()) return users;
  uid_t user = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), user);
  if (error == std::errc() && end == text.data() + text.size()) {
    users.push_back(user);
  } else {
    log::Warning("{}={}: it must name a user by number, and is ignored", ipc::kTrustVariable, text);
  }
  return users;
}

}  // namespace

Result<std::unique_ptr<ipc::ClientConnection>> Attach() {
  std::string directory = Environment("CUDA_MPS_PIPE_DIRECTORY");
  if (directory.empty()) directory = kDefaultPipeDirectory;
  const wire::Hello hello = MakeHello();
  TUTTI_ASSIGN(const bool daemon, HasDaemon(directory));
  if (daemon) {
    auto connection = ipc::ClientConnection::Connect(directory, hello, kAttachTimeoutMs, TrustedUsers());
    if (connection || connection.error().code != cuda::CUDA_ERROR_MPS_CONNECTION_FAILED || !IsStale(directory))
      return connection;
    log::Info("{}/control is stale, no daemon listens: using a private server", directory);
  }
  return StartPrivateServer(hello);
}

}  // namespace tutti::client
