// How the process gets its server: through the daemon if there is one, else one of its own.
#pragma once

#include <memory>

#include "base/error.h"
#include "ipc/client_connection.h"

namespace tutti::client {

// A daemon is found by its socket in $CUDA_MPS_PIPE_DIRECTORY (default /tmp/nvidia-mps). One that answers decides: its
// refusal is the error. No socket, or one that nobody listens on any more, means a private server. A pipe directory
// that was named but cannot be one (a file, unreadable, longer than a socket path) is an error, since the program asked
// for a daemon; so is a listener that is neither root's, nor this user's, nor of the user that TUTTI_TRUST_UID names.
// The error's code is a CUresult, its text one line for the user.
Result<std::unique_ptr<ipc::ClientConnection>> Attach();

}  // namespace tutti::client
