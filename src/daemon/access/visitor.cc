#include "daemon/access/visitor.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "control/words.h"
#include "daemon/access/memory_accounting.h"
#include "os/peer_place.h"
#include "os/pidfd.h"
#include "os/proc_text.h"

namespace tutti::daemon {
namespace {

constexpr uid_t kNobodysNumber = 65533;

std::optional<uid_t> UserNamed(const char* name) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16 * 1024);
  if (getpwnam_r(name, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) return entry.pw_uid;
  return control::ParseNumber(name);
}

std::string UsersParty(uid_t user) { return fmt::format("user {}", user); }

// Container runtimes name a container's cgroup by 64 hexadecimal digits, or, with systemd, a scope. The container
// itself creates what is below.
bool NamesAContainer(std::string_view name) {
  constexpr size_t kDigits = 64;
  size_t digits = 0;
  for (const char c : name) {
    digits = std::isxdigit(static_cast<unsigned char>(c)) ? digits + 1 : 0;
    if (digits == kDigits) return true;
  }
  return name.ends_with(".scope");
}

// `outer`: the cgroup of the container that the daemon itself runs in.
std::string ContainerOf(const std::string& cgroup, const std::string& outer = "") {
  for (size_t begin = cgroup.starts_with(outer + "/") ? outer.size() + 1 : 0; begin < cgroup.size();) {
    const size_t end = std::min(cgroup.find('/', begin), cgroup.size());
    if (NamesAContainer(std::string_view(cgroup).substr(begin, end - begin))) return cgroup.substr(0, end);
    begin = end + 1;
  }
  return cgroup;
}

// If the process has ended, its id may have been reused, so it is nobody.
std::string CgroupOfProcess(int pidfd, pid_t pid) {
  std::string cgroup = pid > 0 ? CgroupOf(static_cast<uint32_t>(pid)) : "";
  return os::KeepsItsNumber(pidfd) ? cgroup : "";
}

}  // namespace

uid_t GuestRoot() {
  const char* const named = std::getenv("TUTTI_GUEST_ROOT");
  if (named == nullptr || *named == '\0') return UserNamed("tutti").value_or(kNobodysNumber);
  const auto user = UserNamed(named);
  if (!user)
    log::Error("TUTTI_GUEST_ROOT=\"{}\" is not a user: servers for root of containers run as user {}", named,
               kNobodysNumber);
  return user.value_or(kNobodysNumber);
}

std::string Visitor::PartyOnServerOf(uid_t owner) const {
  const std::string all = party();
  return administrator || all == UsersParty(owner) ? "" : all;
}

std::string Visitor::party() const {
  if (administrator) return kAdministrators;
  if (at_home) return UsersParty(uid);
  if (made_by && *made_by != 0) return UsersParty(*made_by);
  static const std::string ours = ContainerOf(CgroupOf(static_cast<uint32_t>(getpid())));
  if (cgroup && cgroup->size() > 1) return "the container " + ContainerOf(*cgroup, ours);  // the root is everybody's
  return pid_namespace != 0 ? fmt::format("the container of PID namespace {}", pid_namespace)
                            : "containers that cannot be distinguished";
}

Holder Visitor::holder() const {
  const std::string known = cgroup.value_or("");
  return {.party = party(), .part = at_home ? known : fmt::format("{} {}", known, uid), .pid = pid};
}

void Visitor::LearnCgroup(int socket) {
  if (!at_home || cgroup) return;
  const auto process = os::OpenPidfdOfConnector(socket);
  cgroup = process ? CgroupOfProcess(process->get(), pid) : "";
}

Result<Visitor> VisitorAt(int socket, const std::string& claim) {
  TUTTI_ASSIGN(const os::PeerCredentials peer, os::Peer(socket));
  auto process = os::OpenPidfdOfConnector(socket);
  const bool connector_is_known = process.has_value();
  if (!process) process = os::OpenPeerPidfd(socket);
  const os::PeerPlace place = process ? os::PlaceOfPeer(process->get(), peer) : os::PeerPlace();
  Visitor visitor{.pid = peer.pid,
                  .uid = peer.uid,
                  .pid_namespace = place.pid_namespace,
                  .lives_here = place.our_user_namespace && place.sees_us,
                  .claim = claim,
                  .made_by = place.made_by};
  visitor.at_home = visitor.lives_here && claim.empty();
  // Later, before Linux 6.5, the process id might be another process's.
  if (!visitor.at_home || !connector_is_known)
    visitor.cgroup = process ? CgroupOfProcess(process->get(), peer.pid) : "";
  visitor.administrator = visitor.at_home && (peer.uid == 0 || peer.uid == geteuid());
  static const uid_t guest_root = GuestRoot();
  visitor.served_as = peer.uid == 0 && !visitor.at_home && geteuid() == 0 ? guest_root : peer.uid;
  return visitor;
}

Visitor Ourselves() {
  return {.pid = getpid(),
          .uid = geteuid(),
          .lives_here = true,
          .at_home = true,
          .administrator = true,
          .served_as = geteuid()};
}

uint32_t InnermostPid(uint32_t pid) {
  const std::string status = pid != 0 ? os::TextOf(fmt::format("/proc/{}/status", pid)) : "";
  std::string_view text = status;
  while (!text.empty()) {
    const std::string_view line = os::Cut(text, '\n');
    if (!line.starts_with("NSpid:")) continue;
    const std::string_view last = line.substr(line.find_last_of(" \t:") + 1);
    uint32_t inner = 0;
    const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), inner);
    return error == std::errc() && end == last.data() + last.size() ? inner : 0;
  }
  return 0;
}

}  // namespace tutti::daemon
