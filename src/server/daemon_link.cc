#include "server/daemon_link.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "os/filled_memory.h"
#include "os/rendezvous.h"
#include "os/socket.h"
#include "server/trace_file.h"

namespace tutti::server {
namespace {

constexpr int kMostFailures = 1000;  // to receive, in a row
// Without a daemon and without a client: long enough for a service manager to start the next daemon.
constexpr uint64_t kPatienceNs = 10'000'000'000;
constexpr itimerspec kNever = {};
const std::string kCommands = "what the control daemon asks for";  // users' commands

wire::ServerReady ReadyWith(device::Backend& backend) {
  wire::ServerReady ready;
  for (const wire::DeviceInfo& device : backend.devices()) {
    wire::ServedDevice& served = ready.devices.emplace_back();
    std::copy(std::begin(device.uuid), std::end(device.uuid), served.uuid);
    served.name = std::string(device.name, strnlen(device.name, sizeof device.name));
    served.total_bytes = device.total_bytes;
    const auto attribute = [&device](int number) { return static_cast<uint32_t>(device.attributes[number]); };
    served.sm_count = attribute(cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    served.sms_per_chunk = device.sm_group;
    served.traits = device.traits;
    served.compute_major = attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    served.compute_minor = attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    served.pci_domain = attribute(cuda::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
    served.pci_bus = attribute(cuda::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    served.pci_device = attribute(cuda::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  }
  return ready;
}

}  // namespace

Result<std::unique_ptr<DaemonLink>> DaemonLink::Create(os::Fd socket, os::Fd rendezvous, Server* server) {
  std::unique_ptr<DaemonLink> link(new DaemonLink(std::move(rendezvous), server));
  TUTTI_ASSIGN(const os::PeerCredentials daemon, os::Peer(socket.get()));
  link->daemon_uid_ = daemon.uid;
  if (link->rendezvous_) {
    link->ticks_ = os::Fd(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!link->ticks_) return FailErrno("timerfd_create");
    // For good: it must be heard when nothing can be watched any more.
    TUTTI_TRY(server->Watch(link->ticks_.get(), [link = link.get()] { link->OnArrival(); }));
    TUTTI_TRY(os::ListenOn(link->rendezvous_.get()));
  }
  TUTTI_TRY(link->Connect(std::move(socket)));
  return link;
}

// That the daemon has died meanwhile is noticed by the loop.
Status DaemonLink::Connect(os::Fd socket) {
  TUTTI_ASSIGN(outbox_, Outbox::Create(socket.get(), server_));
  ByteWriter body;
  wire::Put(body, ReadyWith(server_->backend()));
  if (const auto sent = outbox_->Send(wire::MessageKind::kServerReady, 0, std::move(body)); !sent && !rendezvous_)
    return sent;
  TUTTI_TRY(server_->Watch(socket.get(), [this] { OnReadable(); }));
  socket_ = std::move(socket);
  ++daemons_;
  return {};
}

bool DaemonLink::done() {
  if (draining_ && server_->client_count() == 0) return true;
  if (socket_) return false;
  if (!rendezvous_) return true;
  if (server_->client_count() > 0) alone_since_ns_ = NowNs();
  return NowNs() >= alone_since_ns_ + kPatienceNs;
}

// Its clients need no daemon: their connections are the server's own.
void DaemonLink::Lost() {
  server_->Unwatch(socket_.get());
  outbox_.reset();
  socket_.Reset();
  if (!rendezvous_) return;
  lonely_spare_ = os::Fd(eventfd(0, EFD_CLOEXEC));
  log::Info("Continuing with {} clients until another daemon connects", server_->client_count());
  alone_since_ns_ = NowNs();
  const itimerspec every_second{.it_interval = {.tv_sec = 1, .tv_nsec = 0}, .it_value = {.tv_sec = 1, .tv_nsec = 0}};
  timerfd_settime(ticks_.get(), 0, &every_second, nullptr);
  WatchRendezvous();
}

// What fails is tried again with the next tick.
void DaemonLink::WatchRendezvous() {
  const auto watched = server_->Watch(rendezvous_.get(), [this] { OnArrival(); });
  if (!watched && !rendezvous_is_watched_) log::Error("{}", watched.error().text);
  rendezvous_is_watched_ = watched.has_value();
}

// Also called every second, to retry what failed for lack of descriptors.
void DaemonLink::OnArrival() {
  uint64_t expirations;
  [[maybe_unused]] const ssize_t read_bytes = read(ticks_.get(), &expirations, sizeof expirations);
  if (socket_) return;
  auto socket = os::AcceptNext(rendezvous_.get());
  if (!socket) {  // out of descriptors
    spare_.Reset();
    socket = os::AcceptNext(rendezvous_.get());
  }
  if (!socket && std::exchange(rendezvous_is_watched_, false)) server_->Unwatch(rendezvous_.get());  // for a second
  if (socket && !*socket && !rendezvous_is_watched_) WatchRendezvous();
  if (socket && *socket) {
    lonely_spare_.Reset();
    Arrived(std::move(*socket));
  }
  if (!spare_) spare_ = os::Fd(eventfd(0, EFD_CLOEXEC));
  if (!socket_ && !lonely_spare_) lonely_spare_ = os::Fd(eventfd(0, EFD_CLOEXEC));
}

void DaemonLink::Arrived(os::Fd socket) {
  const auto peer = os::Peer(socket.get());
  if (!peer || peer->uid != daemon_uid_) return log::Warning("Refused a connection: its peer is not the daemon's user");
  if (std::exchange(rendezvous_is_watched_, false)) server_->Unwatch(rendezvous_.get());
  timerfd_settime(ticks_.get(), 0, &kNever, nullptr);
  if (const auto connected = Connect(std::move(socket)); !connected) {
    log::Error("The connection of another daemon is lost: {}", connected.error().text);
    return Lost();
  }
  log::Info("Adopted by another daemon");
}

void DaemonLink::ReportFailure(int socket, std::string_view text) {
  ByteWriter body;
  wire::Put(body, wire::ServerReady{.error = std::string(text)});
  (void)ipc::SendMessage(socket, wire::MessageKind::kServerReady, 0, std::move(body));
}

DaemonLink::~DaemonLink() {
  for (const int fd : {socket_.get(), rendezvous_.get(), ticks_.get()}) {
    if (fd >= 0) server_->Unwatch(fd);
  }
}

void DaemonLink::OnReadable() {
  spare_.Reset();
  ReceiveOne();
  spare_ = os::Fd(eventfd(0, EFD_CLOEXEC));
  if (spare_) return;
  os::AwaitClosed();  // the last one may be the connection of a refused client
  spare_ = os::Fd(eventfd(0, EFD_CLOEXEC));
}

// A message that cannot be received (no memory, no descriptor left) is dropped; giving up the daemon would end all
// clients. What is left of its descriptors is closed.
void DaemonLink::ReceiveOne() {
  auto message = ipc::ReceiveMessage(socket_.get(), 0);
  if (!message && ++failures_ < kMostFailures) {
    log::Error("A message of the control daemon is lost: {}", message.error().text);
  } else if (!message || message->closed) {
    log::Info("The control daemon is gone{}{}", message ? "" : ": ", message ? "" : message.error().text);
    Lost();
  } else {
    failures_ = 0;
    if (auto handled = Handle(*message); !handled)
      server_->log().Warning(kCommands, "Request of the control daemon: {}", handled.error().text);
  }
}

Status DaemonLink::Handle(ipc::Envelope& message) {
  switch (message.head.kind) {
    case wire::MessageKind::kAttach: return HandleAttach(message);
    case wire::MessageKind::kServerQuery: return HandleQuery(message);
    case wire::MessageKind::kServerSet: return HandleSet(message);
    case wire::MessageKind::kServerPeer: return HandlePeer(message);
    case wire::MessageKind::kTerminateClient: return HandleTerminate(message);
    case wire::MessageKind::kServerShutdown: return HandleShutdown(message);
    default:
      ReplyStatus(message.head.serial, Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "unknown request"));
      return Fail(fmt::format("message of kind {}", static_cast<unsigned>(message.head.kind)));
  }
}

Status DaemonLink::HandleAttach(ipc::Envelope& message) {
  ByteReader in(message.body);
  if (message.fds.size() != 1) return Fail("Attach without a connection");
  os::StrangersFd connection(std::move(message.fds.front()));
  auto attach = wire::GetAttach(in);
  if (!attach) {
    ipc::SendRefusal(connection.get(), 0, cuda::CUDA_ERROR_INVALID_VALUE, attach.error().text);
    return std::unexpected(attach.error());
  }
  server_->Attach(*attach, std::move(connection));
  return {};
}

Status DaemonLink::HandleQuery(const ipc::Envelope& message) {
  ByteReader in(message.body);
  TUTTI_ASSIGN(const wire::ServerQuery query, wire::GetServerQuery(in));
  const int file = message.fds.empty() ? -1 : message.fds.front().get();
  if (query.what == wire::QueryKind::kClients) {
    Reply(message.head.serial, {.text = server_->RunningKernels(), .clients = server_->Clients()}, file);
  } else if (query.what == wire::QueryKind::kFaults) {
    Reply(message.head.serial, {.text = server_->faults().Lines()}, file);
  } else {
    ReplyStatus(message.head.serial, WriteTrace(server_->backend(), file));
  }
  return {};
}

Status DaemonLink::HandleSet(const ipc::Envelope& message) {
  ByteReader in(message.body);
  TUTTI_ASSIGN(const wire::ServerSet set, wire::GetServerSet(in));
  ReplyStatus(message.head.serial, set.what == wire::SettingKind::kLog ? TakeLog(message) : ApplySetting(set));
  return {};
}

Status DaemonLink::HandlePeer(const ipc::Envelope& message) {
  ByteReader in(message.body);
  TUTTI_ASSIGN(const wire::ServerPeer peer, wire::GetServerPeer(in));
  Status taken = TakePeer(peer, message.fds.empty() ? -1 : message.fds.front().get());
  ReplyStatus(message.head.serial, taken);
  return taken;
}

Status DaemonLink::TakePeer(const wire::ServerPeer& peer, int page) {
  switch (peer.what) {
    case wire::PeerKind::kOwn: return server_->peers().WriteTo(page);
    case wire::PeerKind::kOther: return server_->peers().ReadFrom(peer.server, page);
    case wire::PeerKind::kGone: server_->peers().Forget(peer.server); return {};
    case wire::PeerKind::kSettled: server_->peers().WriteToLatest(); return {};
  }
  return {};
}

// After a log rotation. The daemon opens the file, since a server that runs as its user may not.
Status DaemonLink::TakeLog(const ipc::Envelope& message) {
  if (message.fds.size() != 1) return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "a log without a file");
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (dup2(message.fds.front().get(), fd) < 0) return FailErrno("the log's new file", cuda::CUDA_ERROR_INVALID_VALUE);
  }
  log::Info("Log reopened");
  return {};
}

Status DaemonLink::ApplySetting(const wire::ServerSet& set) {
  switch (set.what) {
    case wire::SettingKind::kPolicy:
      if (const auto policy = device::ParsePolicy(set.text)) {
        TUTTI_TRY(server_->backend().SetPolicy(*policy));
        server_->log().Info(kCommands, "Policy set to {}", set.text);
        return {};
      }
      return Fail(cuda::CUDA_ERROR_INVALID_VALUE,
                  fmt::format("there is no policy \"{}\": give {}", set.text, fmt::join(device::kPolicyNames, ", ")));
    case wire::SettingKind::kPercentage:
      TUTTI_TRY(server_->SetPercentage(set.client, set.percentage));
      server_->log().Info(kCommands, "Active Threads Percentage of the client with ID {} set to {:.1f}", set.client,
                          set.percentage);
      return {};
    case wire::SettingKind::kMemoryLimit:
      TUTTI_TRY(server_->SetMemoryLimit(set.client, set.device, set.number));
      server_->log().Info(kCommands,
                          "Device pinned memory limit of the client with ID {} for device {} set to {:#x} bytes",
                          set.client, set.device, set.number);
      return {};
    case wire::SettingKind::kPriority:
      TUTTI_TRY(server_->SetPriority(set.client, static_cast<int32_t>(std::min<uint64_t>(set.number, INT32_MAX))));
      server_->log().Info(kCommands, "Priority of the client with ID {} set to {}", set.client, set.number);
      return {};
    case wire::SettingKind::kDefaultPriority:
      TUTTI_TRY(server_->SetDefaultPriority(set.text, static_cast<int32_t>(std::min<uint64_t>(set.number, INT32_MAX))));
      server_->log().Info(kCommands, "Default client priority set to {}{}{}", set.number,
                          set.text.empty() ? "" : " in ", set.text);
      return {};
    case wire::SettingKind::kKernelTime:
      TUTTI_TRY(server_->SetKernelTime(set.client, set.number));
      server_->log().Info(kCommands, "Time limit of kernels of the client with ID {} set to {} ns", set.client,
                          set.number);
      return {};
    case wire::SettingKind::kMemoryGroup:
      TUTTI_TRY(server_->SetMemoryGroup(
          {.name = set.text, .device = set.device, .soft_bytes = set.second, .hard_bytes = set.number}));
      server_->log().Info(kCommands, "Memory limits of {} on device {} set to {:#x} (hard) and {:#x} (soft) bytes",
                          set.text, set.device, set.number, set.second);
      return {};
    case wire::SettingKind::kLog: break;  // has a file: TakeLog
    case wire::SettingKind::kTrace: server_->backend().SetTracing(set.number != 0); return {};
  }
  return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "unknown setting");
}

Status DaemonLink::HandleTerminate(const ipc::Envelope& message) {
  ByteReader in(message.body);
  TUTTI_ASSIGN(const wire::TerminateClient request, wire::GetTerminateClient(in));
  const uint32_t serial = message.head.serial;
  const Status begun =
      server_->Terminate(request.client, cuda::CUDA_ERROR_MPS_CLIENT_TERMINATED, [this, serial, asker = daemons_] {
        if (socket_ && asker == daemons_) ReplyStatus(serial, {});
      });
  if (!begun) ReplyStatus(serial, begun);
  return {};
}

Status DaemonLink::HandleShutdown(const ipc::Envelope& message) {
  ByteReader in(message.body);
  TUTTI_ASSIGN(const wire::ServerShutdown request, wire::GetServerShutdown(in));
  server_->Close();
  if (request.force) server_->TerminateAll(cuda::CUDA_ERROR_MPS_CLIENT_TERMINATED);
  draining_ = true;
  ReplyStatus(message.head.serial, {});
  return {};
}

void DaemonLink::ReplyStatus(uint32_t serial, const Status& status) {
  wire::ServerReply reply;
  if (!status)
    reply = {.status = status.error().code != 0 ? status.error().code : cuda::CUDA_ERROR_INVALID_VALUE,
             .text = status.error().text};
  Reply(serial, reply);
}

void DaemonLink::Reply(uint32_t serial, const wire::ServerReply& reply, int file) {
  ByteWriter body;
  wire::Put(body, reply);
  uint32_t flags = 0;
  if (body.bytes().size() > ipc::kMaxPacketBytes) {
    if (const Status filled = file >= 0 ? os::FillMemory(file, body.bytes()) : Fail("the answer is too long");
        !filled) {
      return ReplyStatus(serial, filled);
    }
    flags = wire::kBodyInAskersFile;
    body = {};
  }
  if (auto sent = outbox_->Send(wire::MessageKind::kServerReply, serial, std::move(body), flags); !sent) {
    log::Warning("The control daemon does not read its answer: {}", sent.error().text);
  }
}

}  // namespace tutti::server
