// Admission. The limit on open files bounds a server's places for clients (max_clients_), and in a shared server one
// party (a user or a container, daemon/access/visitor.h) must not be able to take them all:
//
//   * Each client takes a place. So does each message or connection whose unwanted descriptors are being closed for its
//     party (descriptor_takers.h), since those hold a descriptor of the server even after the client is gone.
//   * A party may take half of the places (CheckQuota). The server's own user, the party "", has no quota.
//   * In the total (PlacesTaken) a party counts with at most its quota, so a party above it cannot lock out others.
//   * A refused client takes no place: CloseAside closes its connection.
//   * What a client that has ended leaves on a device takes one of the device's places, and is its party's, too
//     (Limits::party).
#include "server/server.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/clock.h"
#include "control/open_files.h"
#include "cuda/result.h"
#include "os/socket.h"
#include "server/running_kernels.h"
#include "wire/limit_text.h"

namespace tutti::server {
namespace {

// Keys of the epoll set: the kind in the low two bits, the number above.
enum class KeyKind : uint64_t { kFd = 0, kSocket = 1, kPidfd = 2 };
uint64_t Key(KeyKind kind, uint64_t number) { return number << 2 | static_cast<uint64_t>(kind); }

constexpr uint32_t kSocketEvents = EPOLLIN | EPOLLRDHUP;

constexpr uint32_t kLoaders = 4;
constexpr uint64_t kMemoryDelayNs = 1'000'000;
constexpr uint32_t kReapers = 2;
// What is posted may run in a round of the loop whose events were taken before; the next round's have all that there
// was by then, in any order; and the one after that is behind them.
constexpr int kRoundsBehind = 2;

// Who shares no memory shares nothing else (memory_sharing).
std::string SharersOf(const wire::Attach& attach) {
  if (attach.sharing == wire::MemorySharing::kOff) return "";
  return fmt::format("{} {}", attach.uid, attach.party);
}

Result<os::Fd> CreateTimer() {
  os::Fd timer(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!timer) return FailErrno("timerfd_create");
  return timer;
}

void SetTimer(const os::Fd& timer, uint64_t in_ns) {
  const itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = static_cast<long>(in_ns)}};
  timerfd_settime(timer.get(), 0, &once, nullptr);
}

bool HasExpired(const os::Fd& timer) {
  uint64_t expirations;
  return read(timer.get(), &expirations, sizeof expirations) == sizeof expirations;
}

// Returns the memory of ended clients to the system. It takes a moment, so it is batched when many end at once.
void GiveBackFreedMemory() {
  constexpr uint64_t kPauseNs = 100'000'000;
  static std::atomic<uint64_t> next_ns{0};
  const uint64_t now_ns = NowNs();
  uint64_t due_ns = next_ns.load(std::memory_order_relaxed);
  if (now_ns < due_ns || !next_ns.compare_exchange_strong(due_ns, now_ns + kPauseNs, std::memory_order_relaxed)) return;
  malloc_trim(0);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Create(std::unique_ptr<device::Backend> backend, bool shared) {
  TUTTI_ASSIGN(const uint64_t files, control::RaiseOpenFiles());
  const device::Backend::Files of_device = backend->files(files);
  const size_t max_clients =
      std::min<size_t>(control::MostClients(files, of_device.own, of_device.per_space), RingWatch::kCapacity);
  if (max_clients == 0) {
    return Fail(
        fmt::format("the hard limit on open files is {}, too low for one client of this device: raise it", files));
  }
  os::AwaitClosed();
  TUTTI_ASSIGN(os::Epoll epoll, os::Epoll::Create());
  TUTTI_ASSIGN(std::unique_ptr<Mailbox> mailbox, Mailbox::Create());
  TUTTI_ASSIGN(std::unique_ptr<RingWatch> watch, RingWatch::Create());
  std::unique_ptr<Server> server(new Server(std::move(backend), shared, max_clients, control::FilesForSharing(files),
                                            std::move(epoll), std::move(mailbox), std::move(watch)));
  TUTTI_TRY(server->Watch(server->mailbox_->fd(), [self = server.get()] { self->mailbox_->RunAll(); }));
  TUTTI_ASSIGN(server->memory_timer_, CreateTimer());
  TUTTI_TRY(server->Watch(server->memory_timer_.get(), [self = server.get()] { self->SpreadMemoryUse(); }));
  TUTTI_ASSIGN(server->departures_timer_, CreateTimer());
  TUTTI_TRY(server->Watch(server->departures_timer_.get(), [self = server.get()] { self->LookAgainAtDepartures(); }));
  server->backend_->SetIdleWork(server->watch_->idle_work());
  return server;
}

Server::Server(std::unique_ptr<device::Backend> backend, bool shared, size_t max_clients, size_t descriptors,
               os::Epoll epoll, std::unique_ptr<Mailbox> mailbox, std::unique_ptr<RingWatch> watch)
    : shared_(shared),
      max_clients_(max_clients),
      epoll_(std::move(epoll)),
      mailbox_(std::move(mailbox)),
      watch_(std::move(watch)),
      backend_(std::move(backend)),
      peers_(*backend_),
      departures_(*backend_, [this] { SetTimer(departures_timer_, Departures::kTickNs); }),
      exports_([this](int fd, std::function<void()> gone) { return Watch(fd, std::move(gone), 0); },
               [this](int fd) { Unwatch(fd); }, descriptors),
      loaders_("loader", kLoaders),
      reaper_("reaper", kReapers) {}

Server::~Server() { TerminateAll(cuda::CUDA_ERROR_MPS_RPC_FAILURE); }

// --- clients

void Server::Attach(const wire::Attach& attach, os::StrangersFd connection) {
  const std::string party = ClientInfo{.uid = attach.uid, .party = attach.party}.payer();
  log_.Info(party, "Received new client request");
  const auto socket = std::make_shared<os::StrangersFd>(std::move(connection));
  auto session = Admit(attach, socket);
  if (!session) {
    log_.Warning(party, "Client {} is refused: {}", attach.pid, session.error().text);
    ipc::SendRefusal(socket->get(), 0,
                     session.error().code != 0 ? session.error().code : cuda::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
                     session.error().text);
    socket->ShutDown();
    // A refused client has no place in the quota to pay for closing threads: CloseAside closes what it has sent.
    return;
  }
  const uint32_t id = (*session)->info().id;
  log_.Info(party, "New client {} connected", attach.pid);
  sessions_[id] = std::move(*session);
}

Result<std::shared_ptr<Session>> Server::Admit(const wire::Attach& attach,
                                               const std::shared_ptr<os::StrangersFd>& connection) {
  if (closed_) return Fail(cuda::CUDA_ERROR_MPS_SERVER_NOT_READY, "the server is shutting down");
  if (PlacesTaken() >= max_clients_) {
    return Fail(cuda::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
                fmt::format("{} clients are connected, as many as the limit on open files allows beside what is still "
                            "being closed",
                            sessions_.size()));
  }
  TUTTI_TRY(CheckQuota(attach.party));
  device::Limits limits{.active_thread_percentage = std::clamp(attach.active_thread_percentage, 0.01, 100.0),
                        .priority = attach.priority,
                        .sm_ranges = attach.sm_ranges,
                        .sharers = SharersOf(attach),
                        .party = attach.party,
                        .kernel_ns = attach.kernel_ns != 0 ? attach.kernel_ns : default_kernel_ns_};
  // Of windows that have all of the device's memory a party has half, too.
  limits.small_window = !attach.party.empty() && 2 * ClientsOf(attach.party) >= backend_->large_spaces();
  limits.memory_bytes.assign(backend_->devices().size(), ~0ull);
  for (const wire::MemoryLimit& limit : attach.memory_limits) {
    if (limit.device < limits.memory_bytes.size()) limits.memory_bytes[limit.device] = limit.bytes;
  }
  for (const wire::MemoryGroupLimit& group : attach.memory_groups) limits.memory_groups.push_back(groups_.Join(group));
  const SessionServices services{
      .backend = backend_.get(),
      .watch = watch_.get(),
      .loaders = &loaders_,
      .takers = &takers_,
      .faults = &faults_,
      .exports = &exports_,
      .log = &log_,
      .shared_server = shared_,
      .listen = [this](uint32_t id, bool listen) { Listen(id, listen); },
      .post =
          // From threads that may outlive this.
      [this, mailbox = std::weak_ptr(mailbox_)](uint32_t id, std::function<Status(Session&)> work) {
        const auto open = mailbox.lock();
        if (open == nullptr) return;
        open->Post([this, id, work = std::move(work)] {
          const auto it = sessions_.find(id);
          if (it == sessions_.end()) return;
          const std::shared_ptr<Session> session = it->second;
          if (const Status done = work(*session); !done && sessions_.contains(id)) DropBroken(id, done.error().text);
        });
      },
      .broken =
          [this](uint32_t id, std::string reason) {
            Post([this, id, reason = std::move(reason)] {
              if (sessions_.contains(id)) DropBroken(id, reason);
            });
          },
      .memory_changed = [this](uint32_t) { MemoryChanged(); },
      .make_room =
          [this](const Departures::Refused& refused, std::function<void(bool)> done) {
            PostBehind([this, refused, done = std::move(done)] { MakeRoom(refused, done); }, kRoundsBehind);
          },
  };
  const uint32_t id = next_id_++;
  const ClientInfo info{.id = id,
                        .pid = attach.pid != 0 ? attach.pid : attach.hello.claimed_pid,
                        .uid = attach.uid,
                        .pid_namespace = attach.hello.pid_namespace,
                        .command_line = attach.hello.command_line,
                        .name_space = attach.name_space,
                        .own_percentage = attach.own_percentage,
                        .own_limits = attach.own_memory_limits,
                        .party = attach.party,
                        .withheld_devices = attach.withheld_devices,
                        .own_priority = wire::ParsePriority(attach.hello.client_priority).has_value(),
                        .sharing = attach.sharing};
  // The caller answers on `connection` if this fails.
  TUTTI_ASSIGN(std::shared_ptr<Session> session, Session::Create(services, info, std::move(limits), connection));
  const auto begin = [&]() -> Status {
    TUTTI_TRY(epoll_.Add(session->socket(), kSocketEvents, Key(KeyKind::kSocket, id)));
    if (session->pidfd() >= 0) TUTTI_TRY(epoll_.Add(session->pidfd(), EPOLLIN, Key(KeyKind::kPidfd, id)));
    return session->Begin();
  };
  const Status begun = begin();
  if (begun) return session;
  (void)reaper_.Add(id, [last = std::move(session)]() mutable {  // which may wait
    last->Abandon();
    last.reset();
  });
  return std::unexpected(begun.error());
}

size_t Server::PlacesOfAParty() const {
  return std::max<size_t>(std::min(max_clients_, backend_->most_spaces()) / 2, 1);
}

// A party's connected clients may each have one more descriptor being closed; a place has room for both.
size_t Server::PlacesTaken() const {
  std::map<DescriptorTakers::Party, size_t> by_party = takers_.held();
  if (by_party.empty()) return sessions_.size();  // of no party more than CheckQuota let in
  for (const auto& [id, session] : sessions_) ++by_party[session->info().party];
  size_t taken = 0;
  for (const auto& [party, places] : by_party) taken += party.empty() ? places : std::min(places, PlacesOfAParty());
  return taken;
}

size_t Server::ClientsOf(const std::string& party) const {
  const auto of_party = [&party](const auto& entry) { return entry.second->info().party == party; };
  return static_cast<size_t>(std::ranges::count_if(sessions_, of_party));
}

// A server of several parties keeps places for the others of them. A container's root may take any user number, the
// owner's too.
Status Server::CheckQuota(const std::string& party) const {
  if (party.empty()) return {};
  const size_t clients = ClientsOf(party);
  const size_t held = takers_.held(party);
  if (clients + held < PlacesOfAParty()) return {};
  return Fail(cuda::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
              fmt::format("{} has {} clients{}, half of what this server can have; the rest is for others", party,
                          clients, held == 0 ? "" : fmt::format(" and {} files that are still being closed", held)));
}

void Server::LetGo(const std::string& party, const std::shared_ptr<os::StrangersFd>& connection) {
  if (connection->IsDrained()) return;
  takers_.Add(party, [connection] {
    // More than any queue holds: bounds the loop where end of file cannot be told from a message.
    constexpr int kMostMessages = 1 << 20;
    for (int i = 0; i < kMostMessages && !connection->IsDrained(); ++i) (void)os::Discard(connection->get());
  });
}

void Server::DropBroken(uint32_t id, const std::string& why) {
  const bool closed = why.empty();
  const ClientInfo& info = sessions_.at(id)->info();
  if (closed) {
    log_.Info(info.payer(), "Receive command failed, assuming client exit");
  } else {
    log_.Warning(info.payer(), "Client {} is disconnected: it has broken the protocol: {}", info.pid, why);
  }
  Drop(id, closed ? 0 : cuda::CUDA_ERROR_MPS_RPC_FAILURE);
}

void Server::Listen(uint32_t id, bool listen) {
  const int socket = sessions_.at(id)->socket();
  epoll_.Remove(socket);
  if (!listen) return;
  if (const Status added = epoll_.Add(socket, kSocketEvents, Key(KeyKind::kSocket, id)); !added)
    DropBroken(id, added.error().text);
}

void Server::Drop(uint32_t id, int32_t status, std::function<void()> gone) {
  const auto it = sessions_.find(id);
  if (it == sessions_.end()) return;
  std::shared_ptr<Session> session = std::move(it->second);
  sessions_.erase(it);
  epoll_.Remove(session->socket());
  if (session->pidfd() >= 0) epoll_.Remove(session->pidfd());
  session->End(status);
  exports_.Forget(id);
  departures_.Forget(id);
  std::vector<uint64_t> bytes(backend_->devices().size());
  for (uint32_t device = 0; device < bytes.size(); ++device) bytes[device] = session->memory_bytes(device);
  departures_.Begin(id, std::move(bytes));
  // Called by whichever thread has it last, which may outlive this.
  session->SetGone([this, id, mailbox = std::weak_ptr(mailbox_), gone = std::move(gone)] {
    const auto open = mailbox.lock();
    if (open == nullptr) return;
    open->Post([this, id, gone] {
      departures_.Gone(id, NowNs());
      if (gone) gone();
    });
  });
  LetGo(session->info().party, session->connection());
  log_.Info(session->info().payer(), "Client {} disconnected", session->info().pid);
  // Only as a task of the reaper: the reference it drops may be the last one. To the pool each session is a client of
  // its own.
  auto task = [last = std::move(session)]() mutable {
    last->Abandon();
    last.reset();
    GiveBackFreedMemory();
  };
  (void)reaper_.Add(id, std::move(task));
}

Status Server::Terminate(uint32_t client, int32_t status, std::function<void()> ended) {
  TUTTI_ASSIGN(Session* const session, Find(client));
  session->LogRunning();
  Drop(client, status, std::move(ended));
  return {};
}

void Server::TerminateAll(int32_t status) {
  for (const auto& [id, session] : sessions_) {  // before the reaper waits for the first of them
    session->End(status);
    session->Abandon();
  }
  while (!sessions_.empty()) Drop(sessions_.begin()->first, status);
}

Result<Session*> Server::Find(uint32_t client) {
  const auto it = sessions_.find(client);
  if (it == sessions_.end()) return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("there is no client {}", client));
  return it->second.get();
}

// The client that holds most in the group that has borrowed most; never the asker or a member of its groups.
Session* Server::FindVictim(const Session& asker, uint32_t device) {
  Session* victim = nullptr;
  uint64_t most = 0;
  for (const auto& [id, session] : sessions_) {
    if (session.get() == &asker || session->memory_bytes(device) == 0) continue;
    for (const auto& group : session->limits().memory_groups) {
      if (group->device != device || !HasBorrowed(*group)) continue;
      if (std::ranges::find(asker.limits().memory_groups, group) != asker.limits().memory_groups.end()) continue;
      if (victim != nullptr && session->memory_bytes(device) <= most) continue;
      victim = session.get();
      most = session->memory_bytes(device);
    }
  }
  return victim;
}

void Server::PostBehind(std::function<void()> work, int rounds) {
  if (rounds == 0) return Post(std::move(work));
  Post([this, work = std::move(work), rounds] { PostBehind(work, rounds - 1); });
}

// Behind the events of ends that came before the request: whoever has waited for another program's end finds it among
// those that leave.
void Server::MakeRoom(const Departures::Refused& refused, std::function<void(bool)> done) {
  const auto it = sessions_.find(refused.client);
  if (it == sessions_.end()) return;
  const Session& session = *it->second;
  const uint32_t device = refused.device;
  if (refused.on_device) {
    const std::vector<uint64_t>& limits = session.limits().memory_bytes;
    const uint64_t limit = std::min(device < limits.size() ? limits[device] : device::kNoMemoryLimit,
                                    backend_->memory(device).total_bytes());
    const uint64_t has = session.memory_bytes(device);
    if (has > limit || refused.bytes > limit - has) return done(false);
  }
  Session* const victim =
      MayEvict(session.limits().memory_groups, device, refused.bytes) ? FindVictim(session, device) : nullptr;
  if (victim != nullptr) {
    log_.Warning(session.info().payer(),
                 "Device {}: client {} needs {} bytes within its soft limit: client {}, which holds {} and whose group "
                 "is over its own, is terminated",
                 device, session.info().pid, refused.bytes, victim->info().pid, victim->memory_bytes(device));
    Drop(victim->info().id, cuda::CUDA_ERROR_MPS_CLIENT_TERMINATED,
         [this, asker = refused.client, done = std::move(done)] {
           if (sessions_.contains(asker)) done(true);
         });
    return;
  }
  departures_.Await(refused, NowNs(), std::move(done));
}

void Server::LookAgainAtDepartures() {
  if (HasExpired(departures_timer_)) departures_.Tick(NowNs());
}

std::string Server::RunningKernels() {
  constexpr size_t kMostBytes = 256 << 10;  // of one answer
  std::vector<std::vector<std::string>> clients;
  for (const auto& [id, session] : sessions_) clients.push_back(session->RunningLines());
  return RunningAnswer(clients, kMostBytes);
}

std::vector<wire::ClientStatus> Server::Clients() {
  std::vector<wire::ClientStatus> all;
  for (const auto& [id, session] : sessions_) std::ranges::copy(session->Describe(), std::back_inserter(all));
  return all;
}

// --- publishing total memory use to all clients: soon, but not once per allocation

void Server::MemoryChanged() {
  if (memory_dirty_.exchange(true, std::memory_order_acq_rel)) return;
  SetTimer(memory_timer_, kMemoryDelayNs);
}

void Server::SpreadMemoryUse() {
  if (!HasExpired(memory_timer_)) return;
  memory_dirty_.store(false, std::memory_order_release);
  for (uint32_t device = 0; device < backend_->devices().size(); ++device) {
    const uint64_t used_bytes = backend_->memory(device).device_bytes();
    for (const auto& [id, session] : sessions_) session->SetUsed(device, used_bytes);
  }
}

// --- the loop

Status Server::Watch(int fd, std::function<void()> ready, uint32_t events) {
  TUTTI_TRY(epoll_.Add(fd, events, Key(KeyKind::kFd, static_cast<uint64_t>(fd))));
  watched_fds_[fd] = std::move(ready);
  return {};
}

void Server::Unwatch(int fd) {
  epoll_.Remove(fd);
  watched_fds_.erase(fd);
}

void Server::OnEvent(uint64_t key) {
  const uint64_t number = key >> 2;
  switch (static_cast<KeyKind>(key & 3)) {
    case KeyKind::kFd: {
      const auto it = watched_fds_.find(static_cast<int>(number));
      if (it == watched_fds_.end()) return;
      const auto ready = it->second;  // a copy: the callback may unwatch itself
      ready();
      return;
    }
    case KeyKind::kPidfd: Drop(static_cast<uint32_t>(number), 0); return;
    case KeyKind::kSocket: {
      const auto it = sessions_.find(static_cast<uint32_t>(number));
      if (it == sessions_.end()) return;
      const auto taken = it->second->OnReadable();
      if (taken) return;
      DropBroken(static_cast<uint32_t>(number), taken.error().text);
      return;
    }
  }
}

void Server::Run(const std::function<bool()>& done) {
  std::array<os::Epoll::Event, 64> room;
  while (!done()) {
    for (const auto& event : epoll_.Wait(room, -1)) OnEvent(event.key);
  }
}

}  // namespace tutti::server
