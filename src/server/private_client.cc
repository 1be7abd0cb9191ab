#include "server/private_client.h"

#include <algorithm>

#include "cuda/result.h"
#include "ipc/message.h"
#include "os/socket.h"
#include "wire/limit_text.h"
#include "wire/visible_devices.h"

namespace tutti::server {
namespace {

constexpr int kHelloTimeoutMs = 30'000;

Result<wire::Hello> AwaitHello(int socket) {
  TUTTI_ASSIGN(const ipc::Envelope message, ipc::ReceiveMessage(socket, kHelloTimeoutMs));
  if (message.closed) return Fail("the client is gone");
  if (message.head.kind != wire::MessageKind::kHello) return Fail("the client's first message is not Hello");
  ByteReader in(message.body);
  return wire::GetHello(in);
}

// Without a daemon the server itself applies the limits of the client's environment: a requested share holds whether or
// not there are other clients. The client has already reported unreadable values.
void ApplyEnvironment(const device::Backend& backend, wire::Attach* attach) {
  const wire::Hello& hello = attach->hello;
  if (const auto percentage = wire::ParsePercentage(hello.active_thread_percentage)) {
    attach->own_percentage = *percentage;
    attach->active_thread_percentage = std::min(attach->active_thread_percentage, *percentage);
  }
  attach->priority = wire::ParsePriority(hello.client_priority).value_or(0);
  const auto limits = wire::MemoryLimits::Parse(hello.pinned_memory_limit);
  for (uint32_t i = 0; limits && i < backend.devices().size(); ++i) {
    const uint64_t bytes = limits->Of(i, wire::UuidText(backend.devices()[i].uuid));
    if (bytes == wire::kNoMemoryLimit) continue;
    attach->own_memory_limits.push_back({i, bytes});
    attach->memory_limits.push_back({i, bytes});
  }
}

}  // namespace

Status AttachPrivateClient(Server& server, os::Fd socket, double active_thread_percentage) {
  auto hello = AwaitHello(socket.get());
  if (!hello) {
    ipc::SendRefusal(socket.get(), 0, cuda::CUDA_ERROR_MPS_CONNECTION_FAILED, hello.error().text);
    return std::unexpected(hello.error());
  }
  wire::Attach attach{.hello = std::move(*hello), .active_thread_percentage = active_thread_percentage};
  ApplyEnvironment(server.backend(), &attach);
  if (const auto peer = os::Peer(socket.get())) {
    attach.pid = static_cast<uint32_t>(peer->pid);
    attach.uid = peer->uid;
  }
  server.Attach(attach, os::StrangersFd(std::move(socket)));
  if (server.client_count() == 0) return Fail("the client could not be attached");
  return {};
}

// Only after its Hello: if this process ended with the Hello unread, the client would lose what was sent before.
void RefusePrivateClient(int socket, const Error& why) {
  static_cast<void>(AwaitHello(socket));
  ipc::SendRefusal(socket, 0, why.code != 0 ? why.code : cuda::CUDA_ERROR_MPS_CONNECTION_FAILED, why.text);
}

}  // namespace tutti::server
