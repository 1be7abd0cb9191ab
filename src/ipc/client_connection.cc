#include "ipc/client_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "cuda/result.h"
#include "os/socket.h"

namespace tutti::ipc {
namespace {

constexpr int kWindowTaken = -1;  // internal: the address range the server chose is in use in this process
constexpr int kAttempts = 8;
constexpr int kLook_ms = 20;

std::unexpected<Error> ConnectionFailed(std::string_view text) {
  return Fail(cuda::CUDA_ERROR_MPS_CONNECTION_FAILED, std::string(text));
}

// Waits for a moment.
bool HasSpoken(int socket) {
  pollfd there{socket, POLLIN, 0};
  const int ready = poll(&there, 1, kLook_ms);
  return ready > 0 || (ready < 0 && errno != EINTR);
}

// The descriptors of the Welcome, or the reason for the refusal.
Result<std::vector<os::Fd>> AwaitWelcome(int socket, int timeout_ms) {
  auto envelope = ReceiveMessage(socket, timeout_ms);
  if (!envelope) return ConnectionFailed(envelope.error().text);
  if (envelope->closed) return ConnectionFailed("the server closed the connection before it was ready");
  if (envelope->head.kind == wire::MessageKind::kRefuse) {
    ByteReader in(envelope->body);
    auto refuse = wire::GetRefuse(in);
    if (!refuse) return ConnectionFailed(refuse.error().text);
    return Fail(refuse->status, refuse->text);
  }
  if (envelope->head.kind != wire::MessageKind::kWelcome || envelope->fds.size() != wire::kWelcomeFds) {
    return ConnectionFailed("the server answered with something else than a welcome");
  }
  return std::move(envelope->fds);
}

// What the server sends with its Welcome.
struct Welcomed {
  std::vector<os::Fd> fds;
  os::Mapping channel;

  const wire::ChannelHeader& header() const { return *reinterpret_cast<const wire::ChannelHeader*>(channel.data()); }
};

Result<Welcomed> Greet(int socket, const wire::Hello& hello, int timeout_ms) {
  ByteWriter body;
  wire::Put(body, hello);
  if (auto sent = SendMessage(socket, wire::MessageKind::kHello, 0, std::move(body)); !sent)
    return ConnectionFailed(sent.error().text);
  TUTTI_ASSIGN(std::vector<os::Fd> fds, AwaitWelcome(socket, timeout_ms));
  if (auto unbounded = os::LimitSends(socket, -1); !unbounded) return ConnectionFailed(unbounded.error().text);
  auto channel = os::Mapping::Shared(fds[wire::kWelcomeChannelFd].get(), sizeof(wire::Channel));
  if (!channel) return ConnectionFailed(channel.error().text);
  Welcomed welcomed{std::move(fds), std::move(*channel)};
  if (welcomed.header().magic != wire::kChannelMagic || welcomed.header().protocol_version != wire::kProtocolVersion) {
    return ConnectionFailed("the server's channel is of another version: install the same version on both sides");
  }
  return welcomed;
}

Status CheckListener(int socket, const std::string& pipe_directory, std::span<const uid_t> trusted) {
  TUTTI_ASSIGN(const os::PeerCredentials peer, os::Peer(socket));
  if (peer.uid == 0 || peer.uid == geteuid() || std::ranges::find(trusted, peer.uid) != trusted.end()) return {};
  return Fail(
      fmt::format("{}/control belongs to user {}, who is neither root nor you and would see all that this program "
                  "computes: set CUDA_MPS_PIPE_DIRECTORY to the directory of another daemon, or, if you trust "
                  "that user, {}={}",
                  pipe_directory, peer.uid, kTrustVariable, peer.uid));
}

}  // namespace

Result<std::unique_ptr<ClientConnection>> ClientConnection::Connect(const std::string& pipe_directory,
                                                                    const wire::Hello& hello, int timeout_ms,
                                                                    std::span<const uid_t> trusted) {
  // The server picks the window's addresses without knowing which are free here. If they are taken we connect again and
  // keep the earlier connections open, so that the server offers other addresses each time.
  std::vector<os::Fd> held;
  for (;;) {
    auto socket = os::Connect(pipe_directory + "/control", timeout_ms);
    if (!socket) return ConnectionFailed(socket.error().text);
    if (auto checked = CheckListener(socket->get(), pipe_directory, trusted); !checked)
      return ConnectionFailed(checked.error().text);
    os::Fd copy(fcntl(socket->get(), F_DUPFD_CLOEXEC, 0));
    auto connection = TryAdopt(std::move(*socket), hello, timeout_ms);
    if (connection || connection.error().code != kWindowTaken) return connection;
    held.push_back(std::move(copy));
    if (held.size() == kAttempts) return ConnectionFailed(connection.error().text);
  }
}

Result<std::unique_ptr<ClientConnection>> ClientConnection::Adopt(os::Fd socket, const wire::Hello& hello,
                                                                  int timeout_ms) {
  auto connection = TryAdopt(std::move(socket), hello, timeout_ms);
  if (!connection && connection.error().code == kWindowTaken) return ConnectionFailed(connection.error().text);
  return connection;
}

Result<ServerView> ClientConnection::Look(os::Fd socket, const wire::Hello& hello, int timeout_ms) {
  TUTTI_ASSIGN(Welcomed welcomed, Greet(socket.get(), hello, timeout_ms));
  return ServerView{std::move(socket), std::move(welcomed.channel)};
}

Result<std::unique_ptr<ClientConnection>> ClientConnection::TryAdopt(os::Fd socket, const wire::Hello& hello,
                                                                     int timeout_ms) {
  TUTTI_ASSIGN(Welcomed welcomed, Greet(socket.get(), hello, timeout_ms));
  std::vector<os::Fd>& fds = welcomed.fds;
  os::Mapping& channel = welcomed.channel;
  const wire::ChannelHeader& header = welcomed.header();
  auto completions = os::Mapping::Shared(fds[wire::kWelcomeCompletionsFd].get(), sizeof(wire::Completions), false);
  if (!completions) return ConnectionFailed(completions.error().text);
  // A forked child has no session; an inherited mapping would only keep the memory alive.
  if (madvise(channel.data(), channel.size(), MADV_DONTFORK) != 0 ||
      madvise(completions->data(), completions->size(), MADV_DONTFORK) != 0) {
    return ConnectionFailed(FailErrno("keeping the channel from children").error().text);
  }
  auto window = ClientWindow::Map(header.window_base, std::move(fds[wire::kWelcomeWindowFd]), header.window);
  if (!window) {
    return Fail(kWindowTaken,
                fmt::format("no room for the device window at {:#x}: {}", header.window_base, window.error().text));
  }
  return std::unique_ptr<ClientConnection>(
      new ClientConnection(std::move(socket), std::move(fds[wire::kWelcomeDoorbellFd]), std::move(channel),
                           std::move(*completions), std::move(*window)));
}

ClientConnection::ClientConnection(os::Fd socket, os::Fd doorbell, os::Mapping channel, os::Mapping completions,
                                   ClientWindow window)
    : socket_(std::move(socket)),
      doorbell_(std::move(doorbell)),
      channel_mapping_(std::move(channel)),
      completions_mapping_(std::move(completions)),
      window_(std::move(window)),
      channel_(reinterpret_cast<wire::Channel*>(channel_mapping_.data())),
      completions_(reinterpret_cast<const wire::Completions*>(completions_mapping_.data())),
      watch_(&channel_->header, socket_.get()),
      producer_(channel_, doorbell_.get(), &watch_),
      waiter_(channel_, completions_, &producer_, &watch_),
      replies_(channel_, &producer_, &watch_) {}

ClientConnection::~ClientConnection() = default;

Result<Envelope> ClientConnection::Call(wire::MessageKind request, ByteWriter body, std::span<const int> fds,
                                        wire::MessageKind answer, const std::function<void()>& meanwhile) {
  std::lock_guard lock(call_mutex_);
  const auto lost = [&](const std::string& text) {
    const int32_t ended = watch_.Check();
    return Fail(ended != 0 ? ended : cuda::CUDA_ERROR_MPS_RPC_FAILURE, text);
  };
  if (!watch_.HasSocket()) {
    watch_.Lose();
    return lost("the program has closed the session's socket");
  }
  const uint32_t serial = next_serial_++;
  if (auto sent = SendMessage(socket_.get(), request, serial, std::move(body), fds); !sent)
    return lost(sent.error().text);
  for (;;) {
    while (meanwhile && !HasSpoken(socket_.get())) meanwhile();
    auto reply = ReceiveMessage(socket_.get());
    if (!reply) return lost(reply.error().text);
    if (reply->closed) return lost("the server has closed the session");
    if (reply->head.serial != serial) continue;  // the answer to a call that was given up
    if (reply->head.kind == wire::MessageKind::kRefuse) {
      ByteReader in(reply->body);
      TUTTI_ASSIGN(const wire::Refuse refuse, wire::GetRefuse(in));
      return Fail(refuse.status, refuse.text);
    }
    if (reply->head.kind != answer) return lost("the server answered with a message of another kind");
    return reply;
  }
}

void ClientConnection::AbandonInChild() {
  if (watch_.HasSocket()) socket_.Reset();
}

}  // namespace tutti::ipc
