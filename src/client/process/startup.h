// cuInit: attaches to a server. A program that never calls it starts nothing.
#pragma once

#include <memory>

#include "ipc/client_connection.h"

namespace tutti::client {

// Idempotent; a start that failed may be tried again. Returns a CUresult. Thread-safe.
int Start();

// The part of Start after connecting. For tests that bring their own server.
int StartWith(std::unique_ptr<ipc::ClientConnection> connection);

}  // namespace tutti::client
