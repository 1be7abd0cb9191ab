// A pidfd identifies the peer, so that process id reuse cannot confuse it with another process. Since Linux 6.5 the
// kernel provides the pidfd of the very process that connected. Before, we open it by process id: a peer that connects
// and ends, and whose id is reused before we accept the connection, would pass for the new process. That takes as many
// new processes as there are ids within the microseconds until the accept.
#include "os/peer_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <vector>

#include "os/pidfd.h"
#include "os/proc_text.h"

namespace tutti::os {
namespace {

// Newer than the headers this is built with.
constexpr unsigned long kPidNamespace = _IO(0xff, 5);                  // PIDFD_GET_PID_NAMESPACE, Linux 6.11
constexpr unsigned long kUserNamespace = _IO(0xff, 9);                 // PIDFD_GET_USER_NAMESPACE
constexpr unsigned long kGroupLeaderInNamespace = _IOR(0xb7, 9, int);  // NS_GET_TGID_IN_PIDNS, Linux 6.12

uint64_t Inode(const Fd& file) {
  struct stat info{};
  return file && fstat(file.get(), &info) == 0 ? info.st_ino : 0;
}

uint64_t InodeAt(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

// Of the namespaces that this process stays in.
uint64_t OurUserNamespace() {
  static const uint64_t inode = InodeAt("/proc/self/ns/user");
  return inode;
}

uint64_t OurPidNamespace() {
  static const uint64_t inode = InodeAt("/proc/self/ns/pid");
  return inode;
}

// The process id in each PID namespace from that of /proc down to the peer's own.
std::vector<pid_t> NumbersOf(int pidfd) {
  std::istringstream lines(TextOf(fmt::format("/proc/self/fdinfo/{}", pidfd)));
  std::vector<pid_t> numbers;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (pid_t number; words >> number;) numbers.push_back(number);
  }
  return numbers;
}

// Of a user namespace below that of inode `ours`.
std::optional<uid_t> MadeBy(Fd users, uint64_t ours) {
  constexpr int kDeepest = 32;  // as the kernel has it
  for (int depth = 0; depth <= kDeepest && users; ++depth) {
    Fd parent(ioctl(users.get(), NS_GET_PARENT));
    if (Inode(parent) == ours) {
      uid_t owner = 0;
      if (ioctl(users.get(), NS_GET_OWNER_UID, &owner) != 0) return std::nullopt;
      return owner;
    }
    users = std::move(parent);
  }
  return std::nullopt;
}

// From /proc, for kernels that give no namespaces of a pidfd.
PeerPlace ByProcessId(int pidfd, pid_t pid) {
  const std::string peer = fmt::format("/proc/{}", pid);
  PeerPlace place{.pid_namespace = InodeAt(peer + "/ns/pid")};
  if (place.pid_namespace != 0) {
    place.sees_us = place.pid_namespace == OurPidNamespace();
    const uint64_t ours = OurUserNamespace();
    place.our_user_namespace = InodeAt(peer + "/ns/user") == ours;
    if (!place.our_user_namespace)
      place.made_by = MadeBy(Fd(open((peer + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC)), ours);
  } else {
    // Readable by everybody: the process has only the id of our namespace, and its user ids are mapped like ours.
    place.sees_us = NumbersOf(pidfd) == std::vector{pid};
    place.our_user_namespace = TextOf(peer + "/uid_map") == TextOf("/proc/self/uid_map");
    if (place.sees_us) place.pid_namespace = OurPidNamespace();
  }
  return KeepsItsNumber(pidfd) ? place : PeerPlace{};
}

}  // namespace

PeerPlace PlaceOfPeer(int pidfd, const PeerCredentials& peer) {
  const Fd pids(ioctl(pidfd, kPidNamespace, 0));
  Fd users(ioctl(pidfd, kUserNamespace, 0));
  if (!pids || !users) return peer.pid > 0 ? ByProcessId(pidfd, peer.pid) : PeerPlace{};
  const uint64_t ours = OurUserNamespace();
  PeerPlace place{.our_user_namespace = Inode(users) == ours, .pid_namespace = Inode(pids)};
  if (!place.our_user_namespace) place.made_by = MadeBy(std::move(users), ours);
  place.sees_us = place.pid_namespace == OurPidNamespace() || ioctl(pids.get(), kGroupLeaderInNamespace, getpid()) > 0;
  return place;
}

}  // namespace tutti::os
