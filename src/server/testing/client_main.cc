// A client process for the server's tests: works on the connection it finds as descriptor 3 and checks all that it is
// told. Exit status 0: everything was as it should be.
//
//   work ROUNDS   a bit of everything, ROUNDS times
//   memory ROUNDS   allocates and frees, ROUNDS times, and touches nothing
//   hello         says nothing and ends (its connection closes without a Hello)
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "ipc/client_connection.h"
#include "os/memory.h"

namespace tutti {
namespace {

using wire::RecordKind;

#define EXPECT(condition)                                                                       \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      std::fprintf(stderr, "client %d: line %d: not so: %s\n", getpid(), __LINE__, #condition); \
      _exit(1);                                                                                 \
    }                                                                                           \
  } while (0)

class Client {
 public:
  explicit Client(ipc::ClientConnection& connection) : connection_(connection) {}

  void Work(int rounds) {
    LoadKernel();
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 2; ++t) threads.emplace_back([=, this] { UseStream(1 + t, rounds); });
    for (auto& thread : threads) thread.join();
  }

  void UseMemory(int rounds) {
    auto& ring = connection_.producer();
    ring.Submit(RecordKind::kStreamCreate, 1, wire::StreamCreateBody{.device = 0, .context = 1});
    for (int round = 0; round < rounds; ++round) {
      constexpr uint64_t kBytes = 1 << 20;
      const auto memory =
          connection_.replies().Call(RecordKind::kAllocate, wire::AllocateBody{.bytes = kBytes, .alignment = 256});
      EXPECT(memory.status == 0);
      const wire::FillBody fill{
          .destination = memory.value[0], .width = kBytes, .height = 1, .pitch = 0, .value = 1, .element_bytes = 1};
      const uint64_t ticket = ring.Submit(RecordKind::kFill, 1, fill);
      EXPECT(connection_.waiter().Wait(1, ticket) == 0);
      ring.Submit(RecordKind::kFree, 0, wire::FreeBody{.address = memory.value[0]});
    }
  }

 private:
  void LoadKernel() {
    const std::string ptx = ".version 8.0 .visible .entry first() {} .visible .entry second() {}";
    auto image = os::CreateMemoryOf("image", {reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()});
    EXPECT(image);
    ByteWriter body;
    wire::Put(body, wire::LoadModule{.device = 0});
    const int fds[] = {image->get()};
    auto reply =
        connection_.Call(wire::MessageKind::kLoadModule, std::move(body), fds, wire::MessageKind::kLoadModuleReply);
    EXPECT(reply);
    ByteReader in(reply->body);
    const auto loaded = wire::GetLoadModuleReply(in);
    EXPECT(loaded && loaded->status == 0 && reply->fds.size() == 1);
    const auto prepared =
        connection_.replies().Call(RecordKind::kPrepare, wire::PrepareBody{.module = loaded->module, .function = 1});
    EXPECT(prepared.status == 0);
    kernel_ = static_cast<uint32_t>(prepared.value[0]);
  }

  void UseStream(uint32_t stream, int rounds) {
    auto& ring = connection_.producer();
    ring.Submit(RecordKind::kStreamCreate, stream, wire::StreamCreateBody{.device = 0, .context = 1});
    for (int round = 0; round < rounds; ++round) {
      const uint64_t bytes = 4096u * static_cast<uint32_t>(1 + round % 7);
      const auto memory =
          connection_.replies().Call(RecordKind::kAllocate, wire::AllocateBody{.bytes = bytes, .alignment = 256});
      EXPECT(memory.status == 0);
      EXPECT(connection_.window().Open(memory.value[0], bytes));
      handed_over_.fetch_add(1, std::memory_order_acq_rel);
      auto* const data = reinterpret_cast<uint8_t*>(memory.value[0]);
      for (uint64_t i = 0; i < bytes; i += 512) EXPECT(data[i] == 0);
      std::memset(data, 0xaa, bytes);

      const std::vector<uint8_t> arguments(static_cast<size_t>(round % 500));
      for (int i = 0; i < 20; ++i) {
        ring.Submit(RecordKind::kLaunch, stream,
                    wire::LaunchBody{.kernel = kernel_,
                                     .grid = {1, 1, 1},
                                     .block = {32, 1, 1},
                                     .argument_bytes = static_cast<uint32_t>(arguments.size())},
                    arguments);
      }
      const uint32_t event = stream * 100 + static_cast<uint32_t>(round) % 100;
      const uint64_t ticket = ring.Submit(RecordKind::kEventRecord, stream, wire::EventRecordBody{.event = event});
      EXPECT(connection_.waiter().Wait(stream, ticket) == 0);
      EXPECT(connection_.completions().event_ns[event].load() != 0);
      handed_over_.fetch_add(1, std::memory_order_acq_rel);
      ring.Submit(RecordKind::kFree, 0, wire::FreeBody{.address = memory.value[0]});
    }
    const uint64_t last = ring.Submit(RecordKind::kMarker, stream);
    EXPECT(connection_.waiter().Wait(stream, last) == 0);
    ring.Submit(RecordKind::kStreamDestroy, stream);
  }

  ipc::ClientConnection& connection_;
  uint32_t kernel_ = 0;
  // Memory that one thread frees another may be given. They are ordered by the server, which the thread sanitizer
  // cannot see.
  std::atomic<uint32_t> handed_over_{0};
};

int Run(const std::string& mode, int rounds) {
  os::Fd socket(3);
  if (mode == "hello") return 0;
  auto connection = ipc::ClientConnection::Adopt(
      std::move(socket), {.claimed_pid = static_cast<uint32_t>(getpid()), .command_line = "client_main"}, 60'000);
  if (!connection) {
    std::fprintf(stderr, "client %d: %s\n", getpid(), connection.error().text.c_str());
    return 2;
  }
  Client client(**connection);
  if (mode == "memory") {
    client.UseMemory(rounds);
  } else {
    client.Work(rounds);
  }
  return 0;
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) { return tutti::Run(argc > 1 ? argv[1] : "work", argc > 2 ? std::atoi(argv[2]) : 1); }
