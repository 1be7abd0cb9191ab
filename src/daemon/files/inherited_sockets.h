// Listening sockets inherited from a service manager, or from the previous program of this process. Each is identified
// by the path that it is bound to. Reusing them keeps connections in their queues.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::daemon {

// Removes and returns the one bound to `path`, if any. Fails if it is of another type than ours.
std::optional<Result<os::Fd>> TakeInherited(const std::string& path, std::vector<os::Fd>& inherited);

// The path that a socket, or the listener that accepted it, is bound to; "" if none.
std::string BoundTo(int socket);

}  // namespace tutti::daemon
