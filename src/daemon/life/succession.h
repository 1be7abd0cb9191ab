// Upgrade in place: the daemon execs the newly installed program in its process. It keeps its process id, so service
// managers and its servers notice nothing, and its lock and listening sockets, so clients can
// connect at any time. The rest of the state travels in a memory file:
//
//   * its servers, with their connections. They have been told to end with their last client; new clients get new
//     servers, of the new version. So a running program stays with the server and the library it was started with.
//   * its settings, as the commands that make them: the one language all versions share.
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

// What the older program passes on. It keeps its descriptors, in case exec fails.
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

// What the newer program receives.
struct Succession {
  struct Connection {
    os::Fd socket;
    std::vector<uint8_t> hello;
  };
  Inheritance inheritance;
  bool understands = true;  // the previous program spoke our version of the protocol
  std::vector<std::string> commands;
  std::vector<ServerLeft> servers;
  std::vector<Connection> connections;
};

// Execs the program now installed at this one's path, with the same arguments. Returns only on failure.
Error Succeed(const Leaving& leaving);

// In the new program: returns, once, what the older one passed on; nothing after an ordinary start. Fails if it is
// unreadable.
Result<std::optional<Succession>> TakeSuccession();

// Both halves, for tests: serialise into a memory file, and back.
Result<os::Fd> WriteSuccession(const Leaving& leaving);
Result<Succession> ReadSuccession(int fd);

}  // namespace tutti::daemon
