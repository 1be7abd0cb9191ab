// The only client of a server that a program has started for itself, on the socket it was started with.
#pragma once

#include "base/error.h"
#include "os/fd.h"
#include "server/server.h"

namespace tutti::server {

// Waits for the client's Hello and attaches it. Fails if none comes, after telling the client why, if it still lives.
Status AttachPrivateClient(Server& server, os::Fd socket, double active_thread_percentage);

// Tells the client why the server cannot start.
void RefusePrivateClient(int socket, const Error& why);

}  // namespace tutti::server
