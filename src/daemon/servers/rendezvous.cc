#include "daemon/servers/rendezvous.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/words.h"
#include "os/directory_listing.h"
#include "os/pidfd.h"
#include "os/rendezvous.h"
#include "os/socket.h"

namespace tutti::daemon {
namespace {

constexpr uint32_t kMostServers = 1u << 20;

std::string PathOf(const control::Places& places, const std::string& name) {
  return ServersDirectory(places) + "/" + name;
}

// Its process runs, but is hidden from us: /proc with hidepid shows root without CAP_SYS_PTRACE no other user's.
bool IsHidden(const os::Fd& process, pid_t pid) {
  pollfd ended{process.get(), POLLIN, 0};
  return os::StartTicks(pid) == 0 && poll(&ended, 1, 0) == 0;
}

}  // namespace

std::string ServersDirectory(const control::Places& places) {
  return fmt::format("{}/.servers-{}", places.pipe_directory, geteuid());
}

Result<os::Fd> OpenServersDirectory(const control::Places& places) {
  const std::string path = ServersDirectory(places);
  mkdir(path.c_str(), 0700);
  os::Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!fd || fstat(fd.get(), &info) != 0) return FailErrno("cannot use the directory " + path);
  if (info.st_uid != geteuid())
    return Fail(fmt::format("{} belongs to user {}, not to user {}: remove it", path, info.st_uid, geteuid()));
  if (fchmod(fd.get(), 0700) != 0) return FailErrno("cannot set the mode of " + path);
  return fd;
}

// Only what a daemon has made: whoever may write to the pipe directory can put a directory of this user's in its place.
void RemoveServersDirectory(const control::Places& places, std::span<const char* const> files) {
  const auto directory = OpenServersDirectory(places);
  if (!directory) return;
  for (const char* const file : files) unlinkat(directory->get(), file, 0);
  for (const auto& [name, info] : os::ListDirectory(directory->get()).value_or(os::DirectoryEntries{})) {
    if (control::ParseNumber(name) && S_ISSOCK(info.st_mode)) unlinkat(directory->get(), name.c_str(), 0);
  }
  rmdir(ServersDirectory(places).c_str());  // unless something else is there
}

Result<Rendezvous> MakeRendezvous(const control::Places& places, const std::set<std::string>& taken) {
  TUTTI_TRY(OpenServersDirectory(places));
  for (uint32_t number = 1; number < kMostServers; ++number) {
    const std::string name = std::to_string(number);
    if (taken.contains(name)) continue;
    if (faccessat(AT_FDCWD, PathOf(places, name).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) continue;
    TUTTI_ASSIGN(os::Fd socket, os::MakeRendezvous(PathOf(places, name)));
    return Rendezvous{name, std::move(socket)};
  }
  return Fail("too many servers");
}

void RemoveRendezvous(const control::Places& places, const std::string& name) {
  if (!name.empty()) unlink(PathOf(places, name).c_str());
}

// The kernel says which process listens, and the record, which process the daemon has started: neither a user whose
// server has ended nor anybody who gets hold of its socket can have another process adopted in its place. Where its
// start time is hidden, its user is the one who listens on a socket that only a server had, under that server's number.
Result<LaunchedServer> ConnectToServer(const control::Places& places, const ServerRecord& record) {
  auto channel = os::ConnectTo(PathOf(places, record.rendezvous));
  if (!channel) {
    return Fail(os::StartTicks(record.pid) == record.start_ticks ? "it accepts no connection: " + channel.error().text
                                                                 : "it has ended");
  }
  TUTTI_ASSIGN(const os::PeerCredentials peer, os::Peer(channel->get()));
  auto process = os::OpenPeerPidfd(channel->get());
  if (!process) return Fail("it has ended");
  const bool hidden = IsHidden(*process, peer.pid);
  if (!hidden && os::StartTicks(peer.pid) == 0) return Fail("it has ended");
  if (peer.pid != record.pid || peer.uid != record.plan.uid ||
      (!hidden && os::StartTicks(peer.pid) != record.start_ticks))
    return Fail(fmt::format("process {} of user {} waits in its place", peer.pid, peer.uid));
  return LaunchedServer{.pid = record.pid,
                        .process = std::move(*process),
                        .channel = std::move(*channel),
                        .rendezvous = record.rendezvous};
}

// First the descriptor, then the start time: if that is the record's, the descriptor is the server's.
Result<LaunchedServer> FollowServer(const ServerRecord& record) {
  TUTTI_ASSIGN(os::Fd process, os::OpenPidfd(record.pid));
  if (IsHidden(process, record.pid)) return Fail("it cannot be told from another process: /proc hides it (hidepid)");
  if (record.start_ticks == 0 || os::StartTicks(record.pid) != record.start_ticks) return Fail("it has ended");
  return LaunchedServer{.pid = record.pid, .process = std::move(process), .rendezvous = record.rendezvous};
}

}  // namespace tutti::daemon
