// Who is at the other end of a connection, as the kernel says. What they may do follows from it
// (daemon/access/access_policy.h):
//
//   administrator  root and the daemon's own user, in the daemon's user namespace and in a PID namespace that sees the
//                  daemon: who could send it a signal, that is. Root of a container is neither. They may do everything.
//   at home        any user there: sees and changes their own server and all clients of theirs.
//   guest          of a container: its user number says little, since many containers' programs are user 0. It sees and
//                  ends the clients of its user in its own PID namespace (where that cannot be told: in its own
//                  cgroup), and changes no server: that is shared with other containers. Root of a container is served
//                  as a user without rights.
//
// What there is only so much of is shared out between parties. A process of a container may take any user number there,
// so it is its container, not its user, that counts; and where a user of the machine has made the container, that user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "daemon/access/fair_shares.h"
#include "os/socket.h"

namespace tutti::daemon {

// Whose servers and connections are not counted against anybody.
inline constexpr const char* kAdministrators = "the administrators";

struct Visitor {
  pid_t pid = 0;  // 0: not visible here
  uid_t uid = 0;
  std::string cgroup;  // "": not to be seen
  uint64_t pid_namespace = 0;  // inode; 0: cannot be told
  bool lives_here = false;  // in the namespaces of the machine
  bool at_home = false;
  bool administrator = false;
  std::string claim;  // by which it came; then it is a guest, wherever it lives
  uid_t served_as = 0;  // whose server serves it: its own user's, mostly
  // which user of the machine has made its user namespace, if it lives in another one
  std::optional<uid_t> made_by = {};

  // Whose share of the log, of connections and of servers is used: "user 7", or "the container /kubepods/a".
  std::string party() const;
  // The same on a server of this user, of which the user and administrators may have all: "" for them.
  std::string PartyOnServerOf(uid_t owner) const;
  Holder holder() const;
};

// Fails if the peer's credentials cannot be had. What cannot be told of it counts against it.
Result<Visitor> VisitorAt(int socket, const std::string& claim);

// Who serves root of containers where the daemon is root: the code of its kernels must not run as the machine's root.
// TUTTI_GUEST_ROOT names a user or a number; by default the user `tutti`, or a number that is nobody's.
uid_t GuestRoot();

// This process itself.
Visitor Ourselves();

}  // namespace tutti::daemon
