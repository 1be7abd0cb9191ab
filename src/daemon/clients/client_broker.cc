#include "daemon/clients/client_broker.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "cuda/result.h"
#include "ipc/message.h"
#include "os/mount_view.h"
#include "os/pidfd.h"
#include "os/socket.h"

namespace tutti::daemon {
namespace {

// The bound for starting servers, and for each server that does not accept its clients. Each client holds a descriptor
// of ours.
constexpr size_t kMaxWaiting = 4096;
constexpr size_t kDescriptorsPerWaiting = 8;
// When this many times that number wait for unresponsive servers, such servers get no more clients. A responsive one
// has few pending at any time.
constexpr size_t kMostStoppedServers = 4;
constexpr size_t kFewUntaken = 16;

constexpr const char* kTakenBack = "the claim has been removed";

size_t MaxWaiting() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMaxWaiting;
  return std::clamp<size_t>(limit.rlim_cur / kDescriptorsPerWaiting, 1, kMaxWaiting);
}

}  // namespace

ClientBroker::ClientBroker(const Needs& needs, bool static_partitioning)
    : servers_(needs.servers),
      catalog_(needs.catalog),
      partitions_(needs.partitions),
      claims_(needs.claims),
      accounting_(needs.accounting),
      log_(needs.log),
      claims_directory_(needs.claims_directory),
      partition_taken_(needs.partition_taken),
      static_partitioning_(static_partitioning),
      max_waiting_(MaxWaiting()),
      waiting_(max_waiting_) {}

void ClientBroker::Refuse(const WaitingClient& client, int status, const std::string& why) {
  log_.Info(client.peer.party(), "NEW CLIENT {} from user {}: refused, {}", client.peer.pid, client.peer.uid, why);
  ipc::SendRefusal(client.connection.get(), 0, status, why);
}

Status ClientBroker::CheckClaim(const WaitingClient& client) const {
  const std::string& claim = client.route.claim;
  if (claim.empty()) {
    if (client.peer.at_home || !claims_.required()) return {};
    return Fail(cuda::CUDA_ERROR_NOT_PERMITTED,
                "programs in containers need a claim here: the directory of one, mounted in place of the daemon's");
  }
  if (claims_.Find(claim) != nullptr) return {};
  return Fail(cuda::CUDA_ERROR_NOT_PERMITTED, kTakenBack);
}

// A process in the host's namespaces needs no claim; of one that is not visible it is unknown what its container was
// given.
bool ClientBroker::MayChooseClaim(const WaitingClient& client) const {
  if (client.route.claim.empty() || client.peer.lives_here || client.peer.pid <= 0) return false;
  const auto process = os::OpenPeerPidfd(client.connection.get());
  return process && os::SeesDirectory(client.peer.pid, claims_directory_) && os::KeepsItsNumber(process->get());
}

void ClientBroker::Arrived(WaitingClient client) {
  if (closed_) return Refuse(client, cuda::CUDA_ERROR_MPS_SERVER_NOT_READY, "the control daemon is shutting down");
  if (const auto claimed = CheckClaim(client); !claimed)
    return Refuse(client, claimed.error().code, claimed.error().text);
  if (claims_.required() && MayChooseClaim(client)) {
    return Refuse(client, cuda::CUDA_ERROR_NOT_PERMITTED,
                  "this container has all claims to choose from: mount the directory of its own, not one above it");
  }
  if (catalog_.WouldAdd(client.route, client.peer.served_as)) {
    if (const auto may = servers_.MayStart(client.peer.party()); !may)
      return Refuse(client, cuda::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, may.error().text);
  }
  const auto plan = catalog_.PlanFor(client.route, client.peer.served_as);
  if (!plan) return Refuse(client, plan.error().code, plan.error().text);
  if (ServerHandle* server = servers_.Current(plan->name); server != nullptr && server->takes_clients()) {
    if (LeavesTooManyUntaken(*server)) {
      return Refuse(
          client, cuda::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
          fmt::format("server {} does not take the clients that came before: it hangs, or is stopped", server->pid()));
    }
    log_.Info(client.peer.party(), "NEW CLIENT {} from user {}: Server already exists", client.peer.pid,
              client.peer.uid);
    return HandOver(*server, std::move(client));
  }
  if (os::HungUp(client.connection.get())) {
    log_.Info(client.peer.party(), "A client of user {} left before its server was started", client.peer.uid);
    return;
  }
  if (const auto started = servers_.Ensure(*plan, client.peer.party()); !started) {
    return Refuse(client, cuda::CUDA_ERROR_MPS_CONNECTION_FAILED, started.error().text);
  }
  log_.Info(client.peer.party(), "NEW CLIENT {} from user {}: Server is not ready, push client to pending list",
            client.peer.pid, client.peer.uid);
  client.peer.LearnCgroup(client.connection.get());
  if (const auto gone = waiting_.Add(plan->name, std::move(client))) {
    Refuse(*gone, cuda::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "too many clients wait for servers to start");
  }
}

bool ClientBroker::LeavesTooManyUntaken(const ServerHandle& server) const {
  if (server.untaken() >= max_waiting_) return true;
  return server.untaken() > kFewUntaken && servers_.Untaken() >= kMostStoppedServers * max_waiting_;
}

void ClientBroker::ServerReady(ServerHandle& server) {
  for (WaitingClient& client : waiting_.Empty(server.name())) HandOver(server, std::move(client));
}

void ClientBroker::ServerFailed(const std::string& name, const std::string& why) {
  for (const WaitingClient& client : waiting_.Empty(name)) Refuse(client, cuda::CUDA_ERROR_MPS_CONNECTION_FAILED, why);
}

void ClientBroker::Close() {
  closed_ = true;
  for (const WaitingClient& client : waiting_.Take([](const std::string&, const WaitingClient&) { return true; })) {
    Refuse(client, cuda::CUDA_ERROR_MPS_SERVER_NOT_READY, "the control daemon is shutting down");
  }
}

void ClientBroker::ClaimTakenBack(const std::string& claim) {
  const auto came_by_it = [&claim](const std::string&, const WaitingClient& client) {
    return client.route.claim == claim;
  };
  for (const WaitingClient& client : waiting_.Take(came_by_it))
    Refuse(client, cuda::CUDA_ERROR_NOT_PERMITTED, kTakenBack);
}

void ClientBroker::HandOver(ServerHandle& server, WaitingClient client) {
  // Checked again, since the client may have waited for the server.
  if (const auto claimed = CheckClaim(client); !claimed)
    return Refuse(client, claimed.error().code, claimed.error().text);
  const std::string& name_space = client.route.name_space;
  wire::Attach attach =
      EffectiveAttach(client.hello, catalog_.SettingsFor(server.name(), name_space, server.settings()),
                      catalog_.PriorityFor(server.name(), name_space), server.devices());
  attach.name_space = FullName(server.name(), name_space);
  if (const Claim* const claim = claims_.Find(client.route.claim)) {
    if (const auto given = ApplyClaim(*claim, server.devices(), attach); !given)
      return Refuse(client, given.error().code, given.error().text);
  }
  attach.kernel_ns = catalog_.defaults().kernel_ns;
  attach.sharing = catalog_.SharingFor(server.name(), name_space);
  GivePartition(attach, server, client);
  attach.pid = static_cast<uint32_t>(client.peer.pid);
  attach.uid = client.peer.uid;
  attach.party = client.peer.PartyOnServerOf(server.uid());
  // The client's own statements decide nothing: its namespaces determine who may see and end it.
  attach.hello.pid_namespace = client.peer.pid_namespace;
  attach.memory_groups =
      GroupsOf("namespace:" + attach.name_space, catalog_.CollectiveFor(server.name(), name_space), server.devices());
  if (accounting_.needs_cgroups()) client.peer.LearnCgroup(client.connection.get());
  AddCgroupAccounts(accounting_, server.devices(), client.peer.cgroup.value_or(""), log_, attach);
  server.Attach(attach, std::move(client.connection));
}

// A partition is a share in itself; percentages do not reduce it further.
void ClientBroker::GivePartition(wire::Attach& attach, const ServerHandle& server, const WaitingClient& client) {
  const std::string& wanted = client.hello.sm_partition;
  attach.sm_ranges = partitions_.RangesFor(wanted, server.name(), server.devices(), static_partitioning_);
  if (static_partitioning_) attach.active_thread_percentage = 100;
  if (!wanted.empty()) {
    partitions_.NoteClient(wanted, static_cast<uint32_t>(client.peer.pid));
    partition_taken_();
  }
  if (std::ranges::all_of(attach.sm_ranges, [](const wire::SmRange& range) { return range.count > 0; })) return;
  log_.Info(client.peer.party(),
            "Client {} can use no SM of some devices: its CUDA_MPS_SM_PARTITION is \"{}\" (see lspart)",
            client.peer.pid, wanted);
}

}  // namespace tutti::daemon
