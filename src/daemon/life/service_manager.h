// The protocol with the service manager that started the daemon (usually systemd): passed sockets, readiness, watchdog.
// All of it is a no-op without a manager. Daemon thread only.
//
// libsystemd is loaded only if the manager's variables are set, since the same program is the shell, which should not
// pay for it.
#pragma once

#include <string>
#include <vector>

#include "daemon/loop/event_loop.h"
#include "os/fd.h"

namespace tutti::daemon {

// Takes the passed listening sockets (LISTEN_FDS); once.
std::vector<os::Fd> TakePassedSockets();

class ServiceManager {
 public:
  explicit ServiceManager(EventLoop& loop) : loop_(loop) {}
  ~ServiceManager() { loop_.Cancel(next_ping_); }
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // Reports that the daemon accepts connections. From here on the watchdog is fed, if the manager requests one.
  void Ready();
  void Reloading();  // until the next Ready
  void Stopping();

 private:
  void Ping();

  EventLoop& loop_;
  uint64_t ping_interval_ns_ = 0;
  TimerId next_ping_ = 0;
};

}  // namespace tutti::daemon
