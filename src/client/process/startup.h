// cuInit: the one moment at which the library turns from a set of entry points into a client with a server. A program
// that never calls it starts nothing.
#pragma once

#include <memory>

#include "ipc/client_connection.h"

namespace tutti::client {

// Idempotent; a start that failed may be tried again. Returns a CUresult. Thread-safe.
int Start();

// What Start does once there is a connection. For tests that bring their own server.
int StartWith(std::unique_ptr<ipc::ClientConnection> connection);

}  // namespace tutti::client
