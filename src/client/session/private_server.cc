#include "client/session/private_server.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/base/environment.h"
#include "cuda/result.h"
#include "os/socket.h"
#include "os/spawn.h"

namespace tutti::client {
namespace {

constexpr int kStartTimeoutMs = 60'000;
constexpr int kServerSocketFd = 3;  // passed to the server; any free number would do

// The directory of the file this code was loaded from, links resolved; empty if unknown.
std::string OwnDirectory() {
  Dl_info info{};
  char path[PATH_MAX];
  if (dladdr(reinterpret_cast<const void*>(&OwnDirectory), &info) == 0 || realpath(info.dli_fname, path) == nullptr)
    return {};
  const std::string text = path;
  return text.substr(0, text.rfind('/'));
}

std::vector<std::string> Candidates() {
  if (const std::string named = Environment("TUTTI_SERVER"); !named.empty()) return {named};
  std::vector<std::string> candidates;
  if (const std::string own = OwnDirectory(); !own.empty())
    candidates = {own + "/../bin/tutti-server", own + "/tutti-server"};
  candidates.insert(candidates.end(), {"/usr/lib/tutti/tutti-server", "/usr/bin/tutti-server"});
  return candidates;
}

Result<std::string> FindServer() {
  const std::vector<std::string> candidates = Candidates();
  for (const std::string& path : candidates) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return Fail(
      cuda::CUDA_ERROR_SYSTEM_NOT_READY,
      fmt::format(
          "no daemon is running and there is no tutti-server at {}: start tutti-control -d, or set TUTTI_SERVER",
          candidates.front()));
}

// A private server has no terminal of its own: its log is discarded unless a file is named.
os::Fd OpenLog() {
  if (const std::string path = Environment("TUTTI_SERVER_LOG"); !path.empty()) {
    os::Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (file) return file;
  }
  return os::Fd(open("/dev/null", O_RDWR | O_CLOEXEC));
}

struct Started {
  std::string path;
  os::Fd socket;
};

Result<Started> Start() {
  TUTTI_ASSIGN(std::string path, FindServer());
  TUTTI_ASSIGN(auto sockets, os::SocketPair());
  const os::Fd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  const os::Fd log = OpenLog();
  const os::SpawnOptions options{
      .path = path,
      .arguments = {"tutti-server", "--private-fd", std::to_string(kServerSocketFd)},
      .files = {{nothing.get(), 0}, {log.get(), 1}, {log.get(), 2}, {sockets.second.get(), kServerSocketFd}},
      .unnoticed = true,
      .without_environment = !EnvironmentIsTrusted(),
  };
  if (auto started = os::Spawn(options); !started) {
    return Fail(cuda::CUDA_ERROR_SYSTEM_NOT_READY, fmt::format("{} cannot be started: {}", path, started.error().text));
  }
  return Started{std::move(path), std::move(sockets.first)};
}

std::unexpected<Error> NoSession(const std::string& path, const Error& error) {
  return Fail(error.code > 0 ? error.code : cuda::CUDA_ERROR_SYSTEM_NOT_READY,
              fmt::format("{} started but opens no session: {}", path, error.text));
}

}  // namespace

Result<std::unique_ptr<ipc::ClientConnection>> StartPrivateServer(const wire::Hello& hello) {
  TUTTI_ASSIGN(Started server, Start());
  auto connection = ipc::ClientConnection::Adopt(std::move(server.socket), hello, kStartTimeoutMs);
  return connection ? std::move(connection) : NoSession(server.path, connection.error());
}

Result<ipc::ServerView> LookAtPrivateServer(const wire::Hello& hello) {
  TUTTI_ASSIGN(Started server, Start());
  auto view = ipc::ClientConnection::Look(std::move(server.socket), hello, kStartTimeoutMs);
  return view ? std::move(view) : NoSession(server.path, view.error());
}

}  // namespace tutti::client
