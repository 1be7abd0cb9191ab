// tutti-server. Started by tutti-control, with a socket to it, or by a program without a daemon, with that program's
// own connection. A private server ends with its program. A daemon's server outlives it if it has a socket on which to
// wait for the next one (daemon_link.h).
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/log.h"
#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "os/fd.h"
#include "os/signal_bell.h"
#include "os/thread.h"
#include "server/backend_factory.h"
#include "server/confinement.h"
#include "server/daemon_link.h"
#include "server/options.h"
#include "server/private_client.h"
#include "server/server.h"

namespace tutti::server {
namespace {

constexpr unsigned kStartPatience_s = 60;  // longer than the daemon's

Result<std::unique_ptr<Server>> Start(const Options& options, std::string_view device,
                                      std::shared_ptr<os::Spawner> spawner) {
  log::Info("Startup");
  log::Info("Initializing server process");
  TUTTI_ASSIGN(
      std::unique_ptr<device::Backend> backend,
      CreateBackend(device, options.daemon_socket_fd >= 0, options.isolation, options.trust, std::move(spawner)));
  TUTTI_TRY(backend->SetPolicy(options.policy));
  uint32_t ordinal = 0;
  for (const wire::DeviceInfo& device : backend->devices()) {
    log::Info("Creating server context on device {} ({}), {} SMs", ordinal++, device.name,
              device.attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]);
  }
  return Server::Create(std::move(backend), options.daemon_socket_fd >= 0);
}

Status Serve(const Options& options) {
  const bool shared = options.daemon_socket_fd >= 0;
  os::Fd peer(shared ? options.daemon_socket_fd : options.private_fd);
  fcntl(peer.get(), F_SETFD, FD_CLOEXEC);
  os::Fd rendezvous(options.rendezvous_fd);
  if (rendezvous) fcntl(rendezvous.get(), F_SETFD, FD_CLOEXEC);
  // Ctrl-C in a program's terminal is for the program alone; its private server ends when the program does.
  if (!shared) setsid();
  signal(SIGPIPE, SIG_IGN);
  sigset_t none;  // the parent may have blocked some
  sigemptyset(&none);
  if (pthread_sigmask(SIG_SETMASK, &none, nullptr) != 0) return FailErrno("pthread_sigmask");
  // A server needs no capabilities; only root's has any.
  if (const auto dropped = DropCapabilities(); !dropped)
    log::Warning("The server keeps its capabilities: {}", dropped.error().text);
  // Before threads and clients exist: the sandbox forbids it afterwards.
  const std::string_view device = ResolveDevice(options.device);
  auto started = StartSpawner(device);
  if (const auto entered = EnterDomain(); !entered) {
    log::Info("No Landlock domain keeps the server from other processes of its user: {}", entered.error().text);
  }
  TUTTI_ASSIGN(os::SignalBell signals, os::SignalBell::Create({SIGTERM, SIGINT}));
  // Ends a server that hangs in its device's initialization; its daemon, which would do that, may have died.
  if (shared) alarm(kStartPatience_s);
  const std::shared_ptr<os::Spawner> spawner = started ? *started : nullptr;
  auto server = started ? Start(options, device, spawner) : std::unexpected(started.error());
  alarm(0);
  if (!server) {
    if (shared)
      DaemonLink::ReportFailure(peer.get(), server.error().text);
    else
      RefusePrivateClient(peer.get(), server.error());
    return std::unexpected(server.error());
  }
  if (const auto filtered = FilterSystemCalls(); !filtered) {
    log::Warning("No filter restricts the server's system calls: {}", filtered.error().text);
  }
  os::AwaitHeaps();  // clients may exhaust memory
  (*server)->SayWhichLimitsHold();
  (*server)->SetDefaultKernelTime(options.kernel_time_ms * 1'000'000);
  bool terminated = false;
  TUTTI_TRY((*server)->Watch(signals.fd(), [&] {
    const int number = signals.Next();
    if (number == 0) return;
    log::Info("Signal {}: shutting down", number);
    (*server)->TerminateAll(cuda::CUDA_ERROR_MPS_CLIENT_TERMINATED);
    terminated = true;
  }));

  // Present clients go on with what they have; the next client should get a server that can start compilers, or
  // executors.
  bool without_spawner = false;
  if (spawner != nullptr) {
    TUTTI_TRY((*server)->Watch(
        spawner->fd(),
        [&] {
          log::Error("The process that starts {} has ended: this server can {} and ends with its last client",
                     device == "cuda" ? "executors" : "compilers",
                     device == "cuda" ? "take no more clients" : "compile nothing more");
          (*server)->Unwatch(spawner->fd());
          without_spawner = true;
        },
        0));
  }
  const auto is_over = [&] { return terminated || (without_spawner && (*server)->client_count() == 0); };

  if (!shared) {
    TUTTI_TRY(AttachPrivateClient(**server, std::move(peer), options.active_thread_percentage));
    log::Info("Server has started");
    (*server)->Run([&] { return is_over() || (*server)->client_count() == 0; });
  } else {
    TUTTI_ASSIGN(const std::unique_ptr<DaemonLink> link,
                 DaemonLink::Create(std::move(peer), std::move(rendezvous), server->get()));
    log::Info("Server has started");
    (*server)->Run([&] { return is_over() || link->done(); });
  }
  (*server)->Unwatch(signals.fd());
  if (spawner != nullptr && !without_spawner) (*server)->Unwatch(spawner->fd());
  return {};
}

}  // namespace
}  // namespace tutti::server

int main(int argc, char** argv) {
  const auto options = tutti::server::ParseOptions(std::vector<std::string>(argv + 1, argv + argc));
  if (!options) {
    std::fprintf(stderr, "tutti-server: %s\n", options.error().text.c_str());
    return 2;
  }
  if (!options->answer.empty()) {
    std::fputs(options->answer.c_str(), stdout);
    return 0;
  }
  if (!tutti::log::Open(options->log, "Server")) {
    std::fprintf(stderr, "tutti-server: cannot open the log file %s\n", options->log.c_str());
    return 1;
  }
  if (const auto served = tutti::server::Serve(*options); !served) {
    tutti::log::Error("{}", served.error().text);
    return 1;
  }
  tutti::log::Info("Server exits");
  return 0;
}
