#include "server/private_client.h"

#include "ipc/message.h"
#include "os/socket.h"

namespace tutti::server {
namespace {

constexpr int kHelloTimeoutMs = 30'000;
constexpr int kConnectionFailed = 805;  // CUDA_ERROR_MPS_CONNECTION_FAILED

Result<wire::Hello> AwaitHello(int socket) {
  TUTTI_ASSIGN(const ipc::Envelope message, ipc::ReceiveMessage(socket, kHelloTimeoutMs));
  if (message.closed) return Fail("the client is gone");
  if (message.head.kind != wire::MessageKind::kHello) return Fail("the client's first message is no Hello");
  ByteReader in(message.body);
  return wire::GetHello(in);
}

}  // namespace

Status AttachPrivateClient(Server& server, os::Fd socket, double active_thread_percentage) {
  auto hello = AwaitHello(socket.get());
  if (!hello) {
    ipc::SendRefusal(socket.get(), 0, kConnectionFailed, hello.error().text);
    return std::unexpected(hello.error());
  }
  wire::Attach attach{.hello = std::move(*hello), .active_thread_percentage = active_thread_percentage};
  if (const auto peer = os::Peer(socket.get())) {
    attach.pid = static_cast<uint32_t>(peer->pid);
    attach.uid = peer->uid;
  }
  server.Attach(attach, std::move(socket));
  if (server.client_count() == 0) return Fail("the client could not be attached");
  return {};
}

}  // namespace tutti::server
