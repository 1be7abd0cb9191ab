// What the daemon and the service manager that started it (systemd, mostly) have to say to each other: sockets it was
// given, that it is ready, that it is alive. All of it is nothing where no manager is. Daemon thread only.
//
// libsystemd is loaded only when the manager's variables are there: the same program is the shell of every command,
// which should not pay for it.
#pragma once

#include <string>
#include <vector>

#include "daemon/loop/event_loop.h"
#include "os/fd.h"

namespace tutti::daemon {

// Takes the listening sockets that came with the start (LISTEN_FDS); once.
std::vector<os::Fd> TakePassedSockets();

class ServiceManager {
 public:
  explicit ServiceManager(EventLoop& loop) : loop_(loop) {}
  ~ServiceManager() { loop_.Cancel(next_ping_); }
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // The daemon accepts. From here on the watchdog is fed, if the manager wants one.
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
