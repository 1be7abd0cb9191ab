// The identity of a connection's peer, as the kernel reports it. Its rights follow from it
// (daemon/access/access_policy.h):
//
//   administrator  root and the daemon's own user, in the daemon's user namespace and in a PID namespace that sees the
//                  daemon, that is, whoever could signal it; so not root of a container. May do everything.
//   at home        any other user there: sees and changes their own server and all their clients.
//   guest          a process in a container. Its user id says little, since programs of many containers run as user 0.
//                  It sees and ends the clients of its user in its own PID namespace (if that is unknown: in its own
//                  cgroup) and changes no server, since other containers share it. Root of a container is served as an
//                  unprivileged user.
//
// Limited resources are shared out between parties. A container's process may take any user id, so the party is its
// container, not its user; or, if a user of the machine has created the container, that user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "daemon/access/fair_shares.h"
#include "os/socket.h"

namespace tutti::daemon {

// The party whose servers and connections count against no quota.
inline constexpr const char* kAdministrators = "the administrators";

struct Visitor {
  pid_t pid = 0;  // 0: not visible here
  uid_t uid = 0;
  std::optional<std::string> cgroup;  // "": not visible; none: not asked for yet (LearnCgroup)
  uint64_t pid_namespace = 0;  // inode; 0: unknown
  bool lives_here = false;  // in the host's namespaces
  bool at_home = false;
  bool administrator = false;
  std::string claim;  // the claim it connected through; then it is a guest, wherever it lives
  uid_t served_as = 0;  // whose server serves it: usually its own user's
  // the user of the machine who created its user namespace, if it is not the daemon's
  std::optional<uid_t> made_by = {};

  // The party that pays for log lines, connections and servers: "user 7", or "the container /kubepods/a".
  std::string party() const;
  // The same on a server of this user; "" for the user and for administrators, who have no quota there.
  std::string PartyOnServerOf(uid_t owner) const;
  Holder holder() const;
  // Reading a cgroup takes longer than everything else that identifies a peer. A guest's is part of its identity. A
  // peer at home is charged by it, for places it keeps (holder()) and for memory (MemoryAccounting), so its cgroup is
  // read once, when that begins. `socket`: VisitorAt()'s. No-op if the cgroup has been asked for.
  void LearnCgroup(int socket);
};

// Fails if the peer's credentials are unavailable. Whatever else is unknown is decided against the peer.
Result<Visitor> VisitorAt(int socket, const std::string& claim);

// The user whose server serves root of containers if the daemon is root: code of their kernels must not run as the
// machine's root. TUTTI_GUEST_ROOT names the user, or a user id; by default the user `tutti`, else an unused id.
uid_t GuestRoot();

// This process itself.
Visitor Ourselves();

// The process's id in its own PID namespace; 0 if it is unknown.
uint32_t InnermostPid(uint32_t pid);

}  // namespace tutti::daemon
