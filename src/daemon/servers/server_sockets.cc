#include "daemon/servers/server_sockets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "daemon/access/claim.h"
#include "daemon/files/directory.h"
#include "daemon/files/inherited_sockets.h"
#include "daemon/files/instance.h"
#include "os/fifo.h"
#include "os/socket.h"

namespace tutti::daemon {

bool MayNameServer(const std::string& name) {
  constexpr std::array<std::string_view, 5> kTaken{kClaimsDirectory, "control", "control_lock", "control_privileged",
                                                   "log"};
  return std::ranges::find(kTaken, name) == kTaken.end();
}

ServerSockets::~ServerSockets() {
  // Namespaces before their servers' directories: deepest first.
  while (!directories_.empty()) {
    const auto last = std::prev(directories_.end());
    Remove(last->second);
    directories_.erase(last);
  }
}

std::string ServerSockets::Directory(const Route& route) const {
  if (!route.claim.empty()) return root_ + "/" + kClaimsDirectory + "/" + route.claim;
  if (route.server.empty()) return root_;
  const std::string server = root_ + "/" + route.server;
  return route.name_space == kDefaultNamespace ? server : server + "/" + route.name_space;
}

Status ServerSockets::Open(const Route& route) {
  const std::string directory = Directory(route);
  TUTTI_TRY(MakeDirectory(directory));
  const std::string claims = root_ + "/" + kClaimsDirectory;
  if (!route.claim.empty() && chmod(claims.c_str(), kClaimsMode) != 0)
    return FailErrno("cannot set the mode of " + claims);
  PipeDirectory pipe{.route = route};
  if (route.claim.empty() && route.name_space == kDefaultNamespace) {
    TUTTI_ASSIGN(pipe.fifo, os::MakeFifo(directory + "/log", 0777));
    pipe.log = std::make_unique<LogFifo>(loop_, pipe.fifo.get(), log_);
  }
  const std::string path = directory + "/control";
  auto inherited = TakeInherited(path, inherited_);
  // Without its file no client could connect to it.
  if (inherited && *inherited && !os::FileId::At(path)) os::CloseAside(std::move(**inherited)), inherited.reset();
  TUTTI_ASSIGN(os::Fd listener, inherited ? std::move(*inherited) : os::Listen(path, 0666));
  pipe.listener = os::StrangersFd(std::move(listener));
  pipe.file = os::FileId::At(path);
  observer_.listen(pipe.listener.get(), route);
  directories_.insert_or_assign(directory, std::move(pipe));
  return {};
}

Status ServerSockets::PutBack() {
  std::vector<Route> gone;
  for (const auto& [directory, pipe] : directories_) {
    if (os::FileId::At(directory + "/control") != pipe.file) gone.push_back(pipe.route);
  }
  for (const Route& route : gone) {
    log_.Warning(kRemoved, "{}/control was removed or replaced: the daemon has recreated it", Directory(route));
    auto old = directories_.extract(Directory(route));
    observer_.forget(old.mapped().listener.get());
    old.mapped().log.reset();  // before its FIFO
    TUTTI_TRY(Open(route));
  }
  return {};
}

void ServerSockets::ForgetInherited() {
  for (os::Fd& socket : inherited_) os::CloseAside(std::move(socket));
  inherited_.clear();
}

std::vector<int> ServerSockets::Listeners() const {
  std::vector<int> listeners;
  for (const auto& [directory, pipe] : directories_) listeners.push_back(pipe.listener.get());
  return listeners;
}

std::optional<Route> ServerSockets::RouteOf(const std::string& socket_path) const {
  const auto pipe = directories_.find(socket_path.substr(0, socket_path.rfind('/')));
  if (pipe == directories_.end() || socket_path != pipe->first + "/control") return std::nullopt;
  return pipe->second.route;
}

void ServerSockets::Remove(PipeDirectory& pipe) {
  observer_.forget(pipe.listener.get());
  const std::string directory = Directory(pipe.route);
  unlink((directory + "/control").c_str());
  if (pipe.fifo) unlink((directory + "/log").c_str());
  pipe.log.reset();
  if (pipe.route.claim.empty()) rmdir(directory.c_str());
}

void ServerSockets::Close(const Route& route) {
  auto pipe = directories_.extract(Directory(route));
  if (!pipe.empty()) Remove(pipe.mapped());
}

void ServerSockets::CloseServer(const std::string& server) {
  for (auto pipe = directories_.rbegin(); pipe != directories_.rend();) {
    if (pipe->second.route.server != server) {
      ++pipe;
      continue;
    }
    Remove(pipe->second);
    pipe = std::make_reverse_iterator(directories_.erase(std::prev(pipe.base())));
  }
}

}  // namespace tutti::daemon
