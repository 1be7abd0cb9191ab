// Stands in for tutti-server in tests of the daemon alone: speaks the daemon's side of the protocol, keeps clients
// without serving them, and misbehaves on request.
//
// FAKE_SERVER in the environment: "" behaves; "exit" ends before it is ready; "fail" reports that it cannot serve;
// "slow" is ready once the file FAKE_SERVER_GO exists; "deaf" never answers and never obeys; "shy" closes the
// connection of each daemon but its first. As a server that its user has taken over: "deep" answers with a million
// levels of nesting, "mistyped" with values of unexpected types, "crowd" with more clients than there can be, and
// "files" with descriptors.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/message.h"
#include "os/filled_memory.h"
#include "os/rendezvous.h"
#include "os/socket.h"
#include "wire/server_messages.h"

using namespace tutti;

namespace {

struct Client {
  wire::ClientStatus status;
  os::Fd connection;
};

class FakeServer {
 public:
  FakeServer(int daemon, int rendezvous, std::string_view behaviour)
      : daemon_(daemon), rendezvous_(rendezvous), behaviour_(behaviour) {
    if (rendezvous_ >= 0) (void)os::ListenOn(rendezvous_);
  }

  void Ready(std::string error) {
    wire::ServerReady ready{.error = std::move(error)};
    ready.devices.push_back({.uuid = {0xcb, 0x12, 0x13, 0xa3, 0xd6, 0xa4, 0xbe, 0x7f},
                             .name = "Fake",
                             .total_bytes = 1 << 30,
                             .sm_count = 2,
                             .traits = wire::kAllDeviceLimits});
    ByteWriter body;
    wire::Put(body, ready);
    (void)ipc::SendMessage(daemon_, wire::MessageKind::kServerReady, 0, std::move(body));
  }

  int Serve() {
    for (;;) {
      if (draining_ && clients_.empty()) return 0;
      std::vector<pollfd> waits{{daemon_, POLLIN, 0}};
      for (const Client& client : clients_) waits.push_back({client.connection.get(), POLLIN, 0});
      poll(waits.data(), waits.size(), -1);
      for (size_t i = waits.size(); i-- > 1;) {
        if (waits[i].revents != 0) clients_.erase(clients_.begin() + static_cast<ptrdiff_t>(i) - 1);
      }
      if (waits[0].revents == 0) continue;
      if (daemon_ == rendezvous_) {
        auto next = os::AcceptNext(rendezvous_);
        if (!next || !*next || behaviour_ == "shy") continue;
        daemon_ = next->Release();
        Ready("");
        continue;
      }
      auto message = ipc::ReceiveMessage(daemon_);
      if (message && !message->closed) {
        Handle(*message);
      } else if (rendezvous_ < 0 || clients_.empty()) {
        return 3;
      } else {
        close(daemon_);
        daemon_ = rendezvous_;  // until the next one has come
      }
    }
  }

 private:
  void Handle(ipc::Envelope& message) {
    ByteReader in(message.body);
    wire::ServerReply reply;
    switch (message.head.kind) {
      case wire::MessageKind::kAttach: return Attach(wire::GetAttach(in).value(), std::move(message.fds.at(0)));
      case wire::MessageKind::kServerShutdown:
        draining_ = true;
        if (wire::GetServerShutdown(in).value().force) clients_.clear();
        return;
      case wire::MessageKind::kServerPeer: break;
      case wire::MessageKind::kServerQuery: return Answer(message, wire::GetServerQuery(in).value());
      case wire::MessageKind::kServerSet: {
        const auto set = wire::GetServerSet(in).value();
        for (Client& client : clients_) {
          if (client.status.id != set.client) continue;
          if (set.what == wire::SettingKind::kPercentage) client.status.percentage = set.percentage;
          if (set.what == wire::SettingKind::kMemoryLimit) client.status.limit_bytes = set.number;
          if (set.what == wire::SettingKind::kPriority) client.status.priority = static_cast<int32_t>(set.number);
        }
        break;
      }
      case wire::MessageKind::kTerminateClient:
        std::erase_if(clients_, [id = wire::GetTerminateClient(in).value().client](const Client& client) {
          return client.status.id == id;
        });
        break;
      default: return;
    }
    ByteWriter body;
    wire::Put(body, reply);
    (void)ipc::SendMessage(daemon_, wire::MessageKind::kServerReply, message.head.serial, std::move(body));
  }

  void Answer(const ipc::Envelope& message, const wire::ServerQuery& query) {
    constexpr size_t kLevels = 1'000'000;
    wire::ServerReply reply;
    for (const Client& client : clients_) reply.clients.push_back(client.status);
    if (behaviour_ == "crowd") reply.clients.resize(120'000, {.pid = 7});
    for (uint32_t i = 0; i < reply.clients.size() && behaviour_ == "crowd"; ++i) reply.clients[i].pid_namespace = i;
    if (behaviour_ == "deep") {
      reply.text = R"({"id":0,"device":0,"uid":)" + std::to_string(getuid()) + ",\"a\":" + std::string(kLevels, '[') +
                   std::string(kLevels, ']') + "}\n";
    }
    if (behaviour_ == "mistyped")
      reply.text = query.what == wire::QueryKind::kFaults ? "{\"uid\":\"x\"}\n[1]\n" : "{\"id\":-1,\"device\":{}}\n3\n";
    ByteWriter body;
    wire::Put(body, reply);
    if (behaviour_ == "files") {
      (void)ipc::SendMessage(daemon_, wire::MessageKind::kServerReply, message.head.serial, std::move(body),
                             std::span(&daemon_, 1));
    } else if (body.bytes().size() <= ipc::kMaxPacketBytes) {
      (void)ipc::SendMessage(daemon_, wire::MessageKind::kServerReply, message.head.serial, std::move(body));
    } else {
      (void)os::FillMemory(message.fds.at(0).get(), body.bytes());
      (void)os::Send(daemon_, wire::Pack(wire::MessageKind::kServerReply, message.head.serial, {},
                                         wire::kProtocolVersion, wire::kBodyInAskersFile));
    }
  }

  void Attach(const wire::Attach& attach, os::Fd connection) {
    (void)ipc::SendMessage(connection.get(), wire::MessageKind::kWelcome, 0, {});
    wire::ClientStatus status{.id = next_id_++,
                              .pid = attach.pid,
                              .uid = attach.uid,
                              .pid_namespace = attach.hello.pid_namespace,
                              .command_line = attach.hello.command_line,
                              .percentage = attach.active_thread_percentage,
                              .priority = attach.priority,
                              .name_space = attach.name_space,
                              .own_percentage = attach.own_percentage};
    if (!attach.own_memory_limits.empty()) status.own_limit_bytes = attach.own_memory_limits[0].bytes;
    if (!attach.memory_limits.empty()) status.limit_bytes = attach.memory_limits[0].bytes;
    clients_.push_back({std::move(status), std::move(connection)});
  }

  int daemon_;
  const int rendezvous_;
  std::string_view behaviour_;
  uint32_t next_id_ = 0;
  bool draining_ = false;
  std::vector<Client> clients_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || std::string_view(argv[1]) != "--daemon-socket-fd") return 2;
  const bool waits = argc == 5 && std::string_view(argv[3]) == "--rendezvous-fd";
  const char* const wish = std::getenv("FAKE_SERVER");
  const std::string_view behaviour = wish != nullptr ? wish : "";
  if (behaviour == "exit") return 5;
  const char* const go = std::getenv("FAKE_SERVER_GO");  // a file: "slow" is ready once it exists
  while (behaviour == "slow" && go != nullptr && access(go, F_OK) != 0) usleep(10'000);
  FakeServer server(std::atoi(argv[2]), waits ? std::atoi(argv[4]) : -1, behaviour);
  server.Ready(behaviour == "fail" ? "no device is usable" : "");
  if (behaviour == "fail") return 1;
  while (behaviour == "deaf") pause();
  return server.Serve();
}
