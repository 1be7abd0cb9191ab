// What clients wait for as the server ends.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "device/null/null_backend.h"
#include "ipc/client_connection.h"
#include "os/socket.h"
#include "server/server.h"

namespace tutti::server {
namespace {

// Notes whether Spaces outlive it, which they must not.
class NotingBackend final : public device::Backend {
 public:
  explicit NotingBackend(uint64_t* left_bytes) : left_bytes_(left_bytes) {}
  ~NotingBackend() override { *left_bytes_ = true_->memory(0).used_bytes(); }

  std::span<const wire::DeviceInfo> devices() const override { return true_->devices(); }
  device::MemoryAccount& memory(uint32_t device) override { return true_->memory(device); }
  Result<std::unique_ptr<device::Space>> CreateSpace(const device::Limits& limits, device::Sink* sink,
                                                     std::string_view label) override {
    return true_->CreateSpace(limits, sink, label);
  }
  size_t most_spaces() const override { return true_->most_spaces(); }
  void SetIdleWork(IdleWork work) override { true_->SetIdleWork(std::move(work)); }
  std::span<const device::Policy> policies() const override { return true_->policies(); }
  Status SetPolicy(device::Policy policy) override { return true_->SetPolicy(policy); }
  device::Policy policy() const override { return true_->policy(); }
  void SetTracing(bool on) override { true_->SetTracing(on); }
  std::vector<TraceEvent> TakeTrace() override { return true_->TakeTrace(); }

 private:
  uint64_t* const left_bytes_;
  const std::unique_ptr<device::Backend> true_ = device::null::CreateNullBackend();
};

TEST(PendingRequests, AClientThatWaitsForMemoryEndsWithTheServer) {
  constexpr int kTimeoutMs = 30'000;
  constexpr uint64_t kBytes = 2ull << 30;  // of 3 GiB
  auto [ours, theirs] = os::SocketPair().value();
  const os::Fd may_ask(eventfd(0, EFD_CLOEXEC));
  const pid_t client = fork();  // the window has its addresses in both
  ASSERT_GE(client, 0);
  if (client == 0) {
    auto connection = ipc::ClientConnection::Adopt(std::move(ours), {.command_line = "in the test"}, kTimeoutMs);
    if (!connection) _exit(1);
    const wire::AllocateBody body{.bytes = kBytes, .alignment = 256};
    if ((*connection)->replies().Call(wire::RecordKind::kAllocate, body).status != 0) _exit(2);
    eventfd_t asked;
    if (eventfd_read(may_ask.get(), &asked) != 0) _exit(3);
    _exit((*connection)->replies().Call(wire::RecordKind::kAllocate, body).status != 0 ? 0 : 4);
  }
  ours.Reset();
  uint64_t left_bytes = ~0ull;
  auto server = Server::Create(std::make_unique<NotingBackend>(&left_bytes), true);
  ASSERT_TRUE(server) << server.error().text;
  const auto message = ipc::ReceiveMessage(theirs.get(), kTimeoutMs);
  ASSERT_TRUE(message);
  ByteReader in(message->body);
  (*server)->Attach({.hello = wire::GetHello(in).value()}, os::StrangersFd(std::move(theirs)));
  const auto run_once = [&server] { (*server)->Run([rounds = 0]() mutable { return rounds++ == 1; }); };
  run_once();  // the news of the first allocation
  eventfd_write(may_ask.get(), 1);
  run_once();  // the request is under way, and has come to nobody
  *server = nullptr;
  EXPECT_EQ(left_bytes, 0u);
  int status = -1;
  ASSERT_EQ(waitpid(client, &status, 0), client);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tutti::server
