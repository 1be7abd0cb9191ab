#include "daemon/life/service_manager.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>

#include "base/clock.h"
#include "base/log.h"

namespace tutti::daemon {
namespace {

// A function of libsystemd, or null with a line in the log.
template <typename Function>
Function* Find(const char* name) {
  static void* const library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
  void* const symbol = library != nullptr ? dlsym(library, name) : nullptr;
  if (symbol == nullptr) log::Warning("The daemon cannot answer the service manager: {}", dlerror());
  return reinterpret_cast<Function*>(symbol);
}

void Tell(const std::string& state) {
  if (std::getenv("NOTIFY_SOCKET") == nullptr) return;
  static auto* const notify = Find<decltype(sd_notify)>("sd_notify");
  if (notify == nullptr) return;
  if (const int result = notify(0, state.c_str()); result < 0)
    log::Warning("The service manager cannot be notified of {}: error {}", state, -result);
}

// The manager's watchdog interval; 0: none.
uint64_t WatchdogNs() {
  if (std::getenv("WATCHDOG_USEC") == nullptr) return 0;
  auto* const enabled = Find<decltype(sd_watchdog_enabled)>("sd_watchdog_enabled");
  uint64_t microseconds = 0;
  return enabled != nullptr && enabled(0, &microseconds) > 0 ? microseconds * 1000 : 0;
}

}  // namespace

std::vector<os::Fd> TakePassedSockets() {
  std::vector<os::Fd> sockets;
  if (std::getenv("LISTEN_FDS") == nullptr) return sockets;
  auto* const listen_fds = Find<decltype(sd_listen_fds)>("sd_listen_fds");
  const int count = listen_fds != nullptr ? listen_fds(0) : 0;
  for (int i = 0; i < count; ++i) sockets.emplace_back(SD_LISTEN_FDS_START + i);
  return sockets;
}

void ServiceManager::Ready() {
  Tell("READY=1\nSTATUS=Accepting clients");
  if (next_ping_ == 0) ping_interval_ns_ = WatchdogNs() / 2;
  if (next_ping_ == 0 && ping_interval_ns_ != 0) Ping();
}

void ServiceManager::Reloading() {
  // The clock is the one of CLOCK_MONOTONIC, as NowNs is.
  Tell(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", NowNs() / 1000));
}

void ServiceManager::Stopping() { Tell("STOPPING=1\nSTATUS=Waiting for the last clients"); }

// From the event loop, so that the manager ends a daemon whose loop hangs.
void ServiceManager::Ping() {
  Tell("WATCHDOG=1");
  next_ping_ = loop_.After(ping_interval_ns_, [this] { Ping(); });
}

}  // namespace tutti::daemon
