#include "daemon/server_sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "daemon/instance.h"
#include "os/socket.h"

namespace tutti::daemon {
namespace {

Result<os::Fd> OpenFifo(const std::string& path) {
  unlink(path.c_str());
  if (mkfifo(path.c_str(), 0777) != 0) return FailErrno("mkfifo " + path);
  os::Fd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return FailErrno("open " + path);
  fchmod(fd.get(), 0777);
  return fd;
}

}  // namespace

bool MayNameServer(const std::string& name) {
  constexpr std::array<std::string_view, 4> kTaken{"control", "control_lock", "control_privileged", "log"};
  return std::ranges::find(kTaken, name) == kTaken.end();
}

ServerSockets::~ServerSockets() {
  // Namespaces before their servers' directories: deepest first.
  while (!places_.empty()) {
    const auto last = std::prev(places_.end());
    Remove(last->second);
    places_.erase(last);
  }
}

std::string ServerSockets::Directory(const Route& route) const {
  if (route.server.empty()) return root_;
  const std::string server = root_ + "/" + route.server;
  return route.name_space == kDefaultNamespace ? server : server + "/" + route.name_space;
}

Status ServerSockets::Open(const Route& route) {
  const std::string directory = Directory(route);
  TUTTI_TRY(MakeDirectory(directory));
  Place place{.route = route};
  if (route.name_space == kDefaultNamespace) {
    TUTTI_ASSIGN(place.fifo, OpenFifo(directory + "/log"));
    place.log = std::make_unique<LogFifo>(loop_, place.fifo.get());
  }
  TUTTI_ASSIGN(place.listener, os::Listen(directory + "/control", 0666));
  observer_.listen(place.listener.get(), route);
  places_.insert_or_assign(directory, std::move(place));
  return {};
}

void ServerSockets::Remove(Place& place) {
  observer_.forget(place.listener.get());
  const std::string directory = Directory(place.route);
  unlink((directory + "/control").c_str());
  if (place.fifo) unlink((directory + "/log").c_str());
  place.log.reset();
  rmdir(directory.c_str());
}

void ServerSockets::Close(const Route& route) {
  auto place = places_.extract(Directory(route));
  if (!place.empty()) Remove(place.mapped());
}

void ServerSockets::CloseServer(const std::string& server) {
  for (auto place = places_.rbegin(); place != places_.rend();) {
    if (place->second.route.server != server) {
      ++place;
      continue;
    }
    Remove(place->second);
    place = std::make_reverse_iterator(places_.erase(std::prev(place.base())));
  }
}

}  // namespace tutti::daemon
