// In which user and PID namespace the process at the other end of a Unix socket lives. Root of a container is user 0
// like the machine's own root; what tells them apart is this.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "os/socket.h"

namespace tutti::os {

struct PeerPlace {
  bool our_user_namespace = false;
  // this process has a process id where the peer lives: in our PID namespace, or in one above it
  bool sees_us = false;
  uint64_t pid_namespace = 0;  // inode of its /proc/PID/ns/pid; 0: cannot be told
  // Of a peer in a user namespace below ours: which of our users has made the one that it is in, or is below. That user
  // may give it any number of user numbers.
  std::optional<uid_t> made_by = {};
};

// `pidfd`: OpenPeerPidfd's of a socket; `peer`: what Peer() says of the same one. What cannot be told is false or 0: of
// a peer that has ended; before Linux 6.11 of one whose process id is not visible here. Who has not CAP_SYS_PTRACE
// learns of processes of other users whether they live where we do, and no more.
PeerPlace PlaceOfPeer(int pidfd, const PeerCredentials& peer);

}  // namespace tutti::os
