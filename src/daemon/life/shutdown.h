// Ends the daemon: no new clients, and every server told to end, in three steps of increasing force. Daemon thread
// only.
//
// `quit` waits for the clients as long as it takes; `quit -t N` ends them after N seconds; a server that still does not
// end is killed two seconds later (ServerHandle), and abandoned half a minute after that, since it may be blocked in
// the kernel, on a FUSE file of its user for instance, where no signal ends it. If asked again while it waits, the
// shorter time applies.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "daemon/clients/client_broker.h"
#include "daemon/servers/server_table.h"

namespace tutti::daemon {

class Shutdown {
 public:
  // `done` gets 0 if every server ended by itself, else 1.
  using Done = std::function<void(int exit_status)>;

  Shutdown(EventLoop& loop, ServerTable& servers, ClientBroker& broker)
      : loop_(loop), servers_(servers), broker_(broker) {}

  void Begin(std::optional<uint32_t> timeout_s, Done done);
  void ServerExited(int status);

 private:
  void Force();
  void LeaveBehind();
  void FinishIfEmpty();
  void Finish();

  EventLoop& loop_;
  ServerTable& servers_;
  ClientBroker& broker_;
  bool begun_ = false;
  int exit_status_ = 0;
  std::vector<Done> done_;
};

}  // namespace tutti::daemon
