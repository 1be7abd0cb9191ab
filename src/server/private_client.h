// The only client of a server that a program has started for itself, on the socket it was started with.
#pragma once

#include "base/error.h"
#include "os/fd.h"
#include "server/server.h"

namespace tutti::server {

// Waits for the client's Hello and attaches it. An error if none comes; the client has then been told why, if it still
// lives.
Status AttachPrivateClient(Server& server, os::Fd socket, double active_thread_percentage);

// Of a server that cannot start: tells the client why.
void RefusePrivateClient(int socket, const Error& why);

}  // namespace tutti::server
