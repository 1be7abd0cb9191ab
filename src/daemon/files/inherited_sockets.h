// Listening sockets that a service manager, or the older program of this process, has left open: each is known by the
// path that it is bound to, so that who has connected to it finds no door closed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::daemon {

// Takes the one that is bound to `path` out of `inherited`, if there is one. Fails if it is of another type than ours.
std::optional<Result<os::Fd>> TakeInherited(const std::string& path, std::vector<os::Fd>& inherited);

// The path that a socket, or the listener that it came from, is bound to; "" if none.
std::string BoundTo(int socket);

}  // namespace tutti::daemon
