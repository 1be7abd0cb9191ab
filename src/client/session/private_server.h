// Starts a private server, for this process alone.
//
// The server is not a child of the program: it inherits only its end of a socket, raises no SIGCHLD, is invisible to
// wait(), and ends when the socket closes, that is, with the program, however that ends.
#pragma once

#include <memory>

#include "base/error.h"
#include "ipc/client_connection.h"

namespace tutti::client {

// Looks for tutti-server at $TUTTI_SERVER, ../bin and the directory of this library, /usr/lib/tutti and /usr/bin. In a
// program with more rights than its caller, $TUTTI_SERVER is ignored and the server gets no environment.
Result<std::unique_ptr<ipc::ClientConnection>> StartPrivateServer(const wire::Hello& hello);
// The devices of such a server, which ends with the view.
Result<ipc::ServerView> LookAtPrivateServer(const wire::Hello& hello);

}  // namespace tutti::client
