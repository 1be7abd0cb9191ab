// Going on as the program that is installed now, without ending anybody's work: after an upgrade the daemon executes
// the new program in its own process. It keeps its process id, so service managers and its servers (which die with it)
// notice nothing, its lock and its listening sockets, so that no client finds the door closed. What else is to go on
// travels in a memory file:
//
//   * its servers, with their connections. They have been told to end with their last client; new clients get new
//   servers,
//     of the new version. So a running program stays with the server and the library it was started with.
//   * its settings, as the commands that make them: the one language that versions have in common.
//   * clients that have not been served yet: connections, and what has been read from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/files/instance.h"
#include "daemon/servers/server_left.h"
#include "daemon/servers/server_plan.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

// What the older program passes on. Descriptors stay its own, in case it has to go on after all.
struct Leaving {
  struct Connection {
    int fd = -1;
    std::vector<uint8_t> hello;  // the body, if it has been read
  };
  std::vector<int> sockets;
  int lock_fd = -1;
  bool of_manager = false;
  std::vector<std::string> commands;
  std::vector<ServerLeaving> servers;
  std::vector<Connection> connections;
};

// What the newer one finds.
struct Succession {
  struct Connection {
    os::Fd socket;
    std::vector<uint8_t> hello;
  };
  Inheritance inheritance;
  bool understands = true;  // the program before is of our version of the messages
  std::vector<std::string> commands;
  std::vector<ServerLeft> servers;
  std::vector<Connection> connections;
};

// Executes the program that now stands where this one stood, with the same arguments. Returns only if that fails.
Error Succeed(const Leaving& leaving);

// In the new program: what was left to it; nothing if it was started like any other. Fails if it cannot be read. Once.
Result<std::optional<Succession>> TakeSuccession();

// The two halves of it, for tests: a memory file with what is left, and back.
Result<os::Fd> WriteSuccession(const Leaving& leaving);
Result<Succession> ReadSuccession(int fd);

}  // namespace tutti::daemon
