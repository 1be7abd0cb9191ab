#include "daemon/client_broker.h"

#include <unistd.h>

#include "base/log.h"
#include "cuda/result.h"
#include "ipc/message.h"

namespace tutti::daemon {
namespace {

// Of one user. Each holds a descriptor of ours.
constexpr size_t kMaxWaiting = 4096;

void RefuseClient(const WaitingClient& client, int status, const std::string& why) {
  log::Info("NEW CLIENT {} from user {}: refused, {}", client.peer.pid, client.peer.uid, why);
  ipc::SendRefusal(client.connection.get(), 0, status, why);
}

}  // namespace

uid_t ClientBroker::ServingUser(uid_t client) const { return multi_user_ ? geteuid() : client; }

void ClientBroker::Arrived(WaitingClient client) {
  if (closed_) return RefuseClient(client, cuda::CUDA_ERROR_MPS_SERVER_NOT_READY, "the control daemon is shutting down");
  const uid_t uid = ServingUser(client.peer.uid);
  if (ServerHandle* server = servers_.Current(uid); server != nullptr && server->state() == ServerState::kActive) {
    log::Info("NEW CLIENT {} from user {}: Server already exists", client.peer.pid, client.peer.uid);
    return HandOver(*server, std::move(client));
  }
  if (const auto started = servers_.Ensure(uid); !started) {
    return RefuseClient(client, cuda::CUDA_ERROR_MPS_CONNECTION_FAILED, started.error().text);
  }
  auto& queue = waiting_[uid];
  if (queue.size() >= kMaxWaiting) {
    return RefuseClient(client, cuda::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "too many clients wait for the server to start");
  }
  log::Info("NEW CLIENT {} from user {}: Server is not ready, push client to pending list", client.peer.pid, client.peer.uid);
  queue.push_back(std::move(client));
}

void ClientBroker::ServerReady(ServerHandle& server) {
  auto queue = waiting_.extract(server.uid());
  if (queue.empty()) return;
  for (WaitingClient& client : queue.mapped()) HandOver(server, std::move(client));
}

void ClientBroker::ServerFailed(uid_t uid, const std::string& why) {
  auto queue = waiting_.extract(uid);
  if (queue.empty()) return;
  for (const WaitingClient& client : queue.mapped()) RefuseClient(client, cuda::CUDA_ERROR_MPS_CONNECTION_FAILED, why);
}

void ClientBroker::Close() {
  closed_ = true;
  for (auto& [uid, queue] : std::exchange(waiting_, {})) {
    for (const WaitingClient& client : queue) {
      RefuseClient(client, cuda::CUDA_ERROR_MPS_SERVER_NOT_READY, "the control daemon is shutting down");
    }
  }
}

void ClientBroker::HandOver(ServerHandle& server, WaitingClient client) {
  wire::Attach attach = EffectiveAttach(client.hello, server.settings(), defaults_.client_priority, server.devices());
  attach.pid = static_cast<uint32_t>(client.peer.pid);
  attach.uid = client.peer.uid;
  server.Attach(attach, std::move(client.connection));
}

}  // namespace tutti::daemon
