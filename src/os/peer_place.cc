// The peer is taken hold of by a pidfd, so that no process which has its number later is taken for it. Since Linux 6.5 the
// kernel gives the pidfd of the very process that connected. Before, it is opened by number: a peer that connects and ends, and
// whose number is given to another process before its connection is accepted, would pass for that one. That takes as many new
// processes as there are numbers within the microseconds until the accept.
#include "os/peer_place.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "os/pidfd.h"

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

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool Runs(int pidfd) { return syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) == 0 || errno == EPERM; }

// Its process id in each PID namespace from that of /proc down to its own.
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

// From /proc, where the kernel gives no namespaces of a pidfd.
PeerPlace ByProcessId(int pidfd, pid_t pid) {
  const std::string peer = fmt::format("/proc/{}", pid);
  PeerPlace place{.pid_namespace = InodeAt(peer + "/ns/pid")};
  if (place.pid_namespace != 0) {
    place.sees_us = place.pid_namespace == InodeAt("/proc/self/ns/pid");
    place.our_user_namespace = InodeAt(peer + "/ns/user") == InodeAt("/proc/self/ns/user");
  } else {
    // Open to everybody: its one number is that of our namespace, and its user ids are mapped as ours are.
    place.sees_us = NumbersOf(pidfd) == std::vector{pid};
    place.our_user_namespace = TextOf(peer + "/uid_map") == TextOf("/proc/self/uid_map");
    if (place.sees_us) place.pid_namespace = InodeAt("/proc/self/ns/pid");
  }
  return Runs(pidfd) ? place : PeerPlace{};  // of a process that has ended, the number may be another's by now
}

}  // namespace

PeerPlace PlaceOfPeer(int socket, const PeerCredentials& peer) {
  const auto process = OpenPeerPidfd(socket);
  if (!process) return {};
  const Fd pids(ioctl(process->get(), kPidNamespace, 0));
  const Fd users(ioctl(process->get(), kUserNamespace, 0));
  if (!pids || !users) return peer.pid > 0 ? ByProcessId(process->get(), peer.pid) : PeerPlace{};
  PeerPlace place{.our_user_namespace = Inode(users) == InodeAt("/proc/self/ns/user"), .pid_namespace = Inode(pids)};
  place.sees_us = place.pid_namespace == InodeAt("/proc/self/ns/pid") || ioctl(pids.get(), kGroupLeaderInNamespace, getpid()) > 0;
  return place;
}

}  // namespace tutti::os
