// Where servers wait for the next daemon when theirs has died: a socket for each (os/rendezvous.h), in a directory that
// only the daemon's user can enter.
//
//   <pipe directory>/.servers-<uid>          0700, of the daemon's user
//   <pipe directory>/.servers-<uid>/<n>      the socket on which a server listens
//   <pipe directory>/.servers-<uid>/state    what the next daemon needs to know (life/state_file.h)
#pragma once

#include <set>
#include <span>
#include <string>

#include "base/error.h"
#include "control/places.h"
#include "daemon/servers/server_left.h"
#include "os/fd.h"

namespace tutti::daemon {

std::string ServersDirectory(const control::Places& places);
// Makes it if it is missing. Fails if something else is there, or somebody else's.
Result<os::Fd> OpenServersDirectory(const control::Places& places);
// With the sockets in it and these files; not if anything else is there.
void RemoveServersDirectory(const control::Places& places, std::span<const char* const> files = {});

struct Rendezvous {
  std::string name;
  os::Fd socket;  // for the server
};
// A new one, by none of the names that are taken although there may be no file.
Result<Rendezvous> MakeRendezvous(const control::Places& places, const std::set<std::string>& taken = {});
void RemoveRendezvous(const control::Places& places, const std::string& name);

// Connects to the server that the record describes. Fails, with a text for the log, if the server has ended or accepts
// no connection, or if another process listens in its place.
Result<LaunchedServer> ConnectToServer(const control::Places& places, const ServerRecord& record);
// The same server without a connection, to wait for its end, or to end it. Fails if it has ended.
Result<LaunchedServer> FollowServer(const ServerRecord& record);

}  // namespace tutti::daemon
