// A server for this process alone.
//
// It is no child of the program: it inherits nothing but its end of a socket, raises no SIGCHLD, is seen by no wait(),
// and ends when the socket closes, so with the program, however that ends.
#pragma once

#include <memory>

#include "base/error.h"
#include "ipc/client_connection.h"

namespace tutti::client {

// A program with more rights than its caller chooses neither server nor anything of its environment by its caller's
// word. Looks for tutti-server at $TUTTI_SERVER, ../bin and the directory of this library, /usr/lib/tutti and /usr/bin.
Result<std::unique_ptr<ipc::ClientConnection>> StartPrivateServer(const wire::Hello& hello);

}  // namespace tutti::client
