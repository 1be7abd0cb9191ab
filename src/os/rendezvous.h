// A socket that one process binds and another one listens on, so that it outlives the first. Whoever connects to it is
// told by the kernel which process listens (SO_PEERCRED: Peer in os/socket.h), and the listener, who connects.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

// A socket bound to `path`, with mode 0600; fails if there is a file of that name. It is for another process to listen
// on.
Result<Fd> MakeRendezvous(const std::string& path);

// Makes this process the one that listens, and AcceptNext not block.
Status ListenOn(int rendezvous);
// The next connection; an empty one if there is none.
Result<Fd> AcceptNext(int rendezvous);

// Connects, without blocking, to the process that listens at `path`. It cannot pass descriptors to us
// (RefuseDescriptors in os/socket.h). Fails if none listens, or if too many connections are pending.
Result<Fd> ConnectTo(const std::string& path);

}  // namespace tutti::os
