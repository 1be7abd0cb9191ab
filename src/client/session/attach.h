// Attaches the process to a server: through the daemon if there is one, else to a private server.
#pragma once

#include <memory>

#include "base/error.h"
#include "ipc/client_connection.h"

namespace tutti::client {

// The daemon's socket is in $CUDA_MPS_PIPE_DIRECTORY (default /tmp/nvidia-mps). If a daemon answers, its decision is
// final: a refusal is the error. Without a socket, or with a stale one, a private server is started. A pipe directory
// that is set but unusable (a file, unreadable, longer than a socket path) is an error, since the program asked for a
// daemon; so is a listener that runs neither as root, nor as this user, nor as the user that TUTTI_TRUST_UID names. The
// error's code is a CUresult, its text one line for the user.
Result<std::unique_ptr<ipc::ClientConnection>> Attach();

}  // namespace tutti::client
