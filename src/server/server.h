// The server: a device backend, the clients' sessions on it, and the main thread's loop over their sockets.
//
// The main thread attaches and detaches clients and answers the daemon. It never waits for a client, never runs device
// work and never destroys a session itself (that may wait for blocks that run): the reaper does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log_budget.h"
#include "device/device.h"
#include "os/close_aside.h"
#include "os/epoll.h"
#include "server/departures.h"
#include "server/descriptor_takers.h"
#include "server/fault_log.h"
#include "server/mailbox.h"
#include "server/memory_groups.h"
#include "server/ring_watch.h"
#include "server/server_peers.h"
#include "server/session.h"
#include "server/worker_pool.h"
#include "wire/server_messages.h"

namespace tutti::server {

// Main thread only, but for Post.
class Server {
 public:
  // `shared`: clients come through a daemon.
  static Result<std::unique_ptr<Server>> Create(std::unique_ptr<device::Backend> backend, bool shared);
  ~Server();

  // Takes a client's connection and answers it: with a Welcome, or with a Refuse that says why not.
  void Attach(const wire::Attach& attach, os::StrangersFd connection);
  // Clients are named by their numbers (ClientInfo::id).

  // Ends the session of the client, which then sees `status`. INVALID_VALUE if there is none. The main thread calls
  // `ended` when the session is torn down and its memory is free.
  Status Terminate(uint32_t client, int32_t status, std::function<void()> ended);
  void TerminateAll(int32_t status);

  // Live settings of running clients.
  Status SetPercentage(uint32_t client, double percentage);
  Status SetMemoryLimit(uint32_t client, uint32_t device, uint64_t bytes);
  Status SetPriority(uint32_t client, int32_t priority);
  // For all clients of the namespace ("": of all namespaces) that neither asked for a priority nor had one set
  // individually.
  Status SetDefaultPriority(std::string_view name_space, int32_t priority);
  Status SetKernelTime(uint32_t client, uint64_t ns);
  // Logs what users might count on, and cannot on these devices.
  void SayWhichLimitsHold() const;
  // The default for clients that come without one.
  void SetDefaultKernelTime(uint64_t ns) { default_kernel_ns_ = ns; }
  // Changes a group that clients belong to.
  Status SetMemoryGroup(const wire::MemoryGroupLimit& limit);

  std::vector<wire::ClientStatus> Clients();
  std::string RunningKernels();  // of all clients (running_kernels.h)
  const FaultLog& faults() const { return faults_; }
  LogBudget& log() { return log_; }
  ServerPeers& peers() { return peers_; }
  size_t client_count() const { return sessions_.size(); }
  device::Backend& backend() { return *backend_; }

  // No new clients from now on: they get MPS_SERVER_NOT_READY.
  void Close() { closed_ = true; }

  // Adds a descriptor to the event loop: `ready` runs when it reports one of `events` (of epoll) or a hang-up.
  Status Watch(int fd, std::function<void()> ready, uint32_t events = EPOLLIN);
  void Unwatch(int fd);

  // Serves until `done()`, which is checked after every event.
  void Run(const std::function<bool()>& done);

  // Has the main thread run `work`. Thread-safe.
  void Post(std::function<void()> work) { mailbox_->Post(std::move(work)); }

 private:
  Server(std::unique_ptr<device::Backend> backend, bool shared, size_t max_clients, size_t descriptors, os::Epoll epoll,
         std::unique_ptr<Mailbox> mailbox, std::unique_ptr<RingWatch> watch);

  Result<std::shared_ptr<Session>> Admit(const wire::Attach& attach,
                                         const std::shared_ptr<os::StrangersFd>& connection);
  // Has what lies unread in an ended client's connection closed by threads that only its party can block.
  void LetGo(const std::string& party, const std::shared_ptr<os::StrangersFd>& connection);
  void Listen(uint32_t id, bool listen);
  // Of max_clients_: one party's quota while there are several, and the places in use. An ended client keeps its place
  // while its files are being closed.
  size_t PlacesOfAParty() const;
  size_t ClientsOf(const std::string& party) const;  // that are connected
  size_t PlacesTaken() const;
  Status CheckQuota(const std::string& party) const;
  void OnEvent(uint64_t key);
  // Removes the session and hands it to the reaper. The client sees `status`; 0: it is gone. `gone` is called when
  // all of the session's resources are free.
  void Drop(uint32_t id, int32_t status, std::function<void()> gone = nullptr);
  // Drops a client that has broken the protocol, or, with an empty `why`, has closed its connection.
  void DropBroken(uint32_t id, const std::string& why);
  void MakeRoom(const Departures::Refused& refused, std::function<void(bool)> done);
  Session* FindVictim(const Session& asker, uint32_t device);
  void LookAgainAtDepartures();
  // As Post, so many rounds of the event loop later. Thread-safe.
  void PostBehind(std::function<void()> work, int rounds);
  Status ChangeLimits(uint32_t client, const std::function<void(device::Limits&)>& change);
  void MemoryChanged();
  void SpreadMemoryUse();
  Result<Session*> Find(uint32_t client);

  // Ordered by dependency: the last is destroyed first.
  bool shared_;
  bool closed_ = false;
  uint64_t default_kernel_ns_ = 0;
  size_t max_clients_;
  uint32_t next_id_ = 0;
  std::atomic<bool> memory_dirty_{false};
  os::Fd memory_timer_;  // set when memory use has changed
  os::Fd departures_timer_;  // set while somebody waits for departures
  std::map<int, std::function<void()>> watched_fds_;
  os::Epoll epoll_;
  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<RingWatch> watch_;
  FaultLog faults_;
  LogBudget log_;  // for lines that clients cause, or their users through the daemon
  std::unique_ptr<device::Backend> backend_;
  ServerPeers peers_;
  Departures departures_;
  MemoryGroupTable groups_;
  ExportTable exports_;
  DescriptorTakers takers_;
  std::map<uint32_t, std::shared_ptr<Session>> sessions_;
  WorkerPool loaders_;
  WorkerPool reaper_;
};

}  // namespace tutti::server
