// The user and PID namespace of the process at the other end of a Unix socket. A container's root is user 0 like the
// machine's own; only the namespace distinguishes them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "os/socket.h"

namespace tutti::os {

struct PeerPlace {
  bool our_user_namespace = false;
  // the peer's PID namespace is ours or one above it, so this process has an id there
  bool sees_us = false;
  uint64_t pid_namespace = 0;  // inode of its /proc/PID/ns/pid; 0: unknown
  // For a peer in a user namespace below ours: the user of ours who created that namespace or its topmost ancestor
  // below ours. That user may map any number of user ids into it.
  std::optional<uid_t> made_by = {};
};

// `pidfd`: OpenPeerPidfd's of a socket; `peer`: what Peer() says of the same one. What is unknown is false or 0: for a
// peer that has ended; before Linux 6.11, for one whose process id is not visible here. Without CAP_SYS_PTRACE a
// process learns of other users' processes only whether they share its namespaces.
PeerPlace PlaceOfPeer(int pidfd, const PeerCredentials& peer);

}  // namespace tutti::os
