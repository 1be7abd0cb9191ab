// A client that only does the handshake: prints "welcome" or "refused CODE TEXT". Its limits come from the CUDA_MPS_
// environment variables, as a program's would.
//
//   --hold       stays until its connection is closed, then prints "closed"
//   --garbage    sends packets that are malformed in many ways, each on a connection of its own
//   --bodies N   sends N commands whose bodies are long memory files, and counts the answers
//   --silent N   keeps N connections and sends nothing
//   --restless   sends nothing either, but always on a new connection
//   --churn N    connects and leaves N times
//   --hellos N   says hello N times and never waits for the answer
//   --linger     sends a command with a TCP socket whose close() blocks for an hour
//   --trace PID  traces that process, so that its parent cannot reap it
//   --listen     is no client but a foreign daemon: accepts connections and never answers in our protocol
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "ipc/message.h"
#include "os/memory.h"
#include "os/socket.h"
#include "os/testing/lingering_socket.h"
#include "wire/messages.h"

using namespace tutti;

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

wire::Hello MyHello(const std::string& command_line) {
  struct stat name_space{};
  stat("/proc/self/ns/pid", &name_space);
  return {.claimed_pid = static_cast<uint32_t>(getpid()),
          .pid_namespace = name_space.st_ino,
          .command_line = command_line,
          .active_thread_percentage = Environment("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"),
          .pinned_memory_limit = Environment("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"),
          .client_priority = Environment("CUDA_MPS_CLIENT_PRIORITY")};
}

int Complain(const std::string& text) {
  std::printf("%s\n", text.c_str());
  return 1;
}

// Heads of every kind with truncated bodies, random bytes, counts beyond the end.
std::vector<uint8_t> Garbage(uint32_t round) {
  std::vector<uint8_t> bytes;
  if (round % 3 != 0) bytes = wire::Pack(static_cast<wire::MessageKind>(round % 50), round, {});
  uint32_t state = round * 2654435761u + 1;
  for (uint32_t i = 0; i < round % 97; ++i) {
    state = state * 1664525u + 1013904223u;
    bytes.push_back(round % 5 == 0 ? 0xff : static_cast<uint8_t>(state >> 24));
  }
  if (bytes.empty()) bytes.push_back(0);
  return bytes;
}

int SendGarbage(const std::string& path) {
  for (uint32_t round = 0; round < 500; ++round) {
    const auto socket = os::Connect(path);
    if (!socket) return Complain(socket.error().text);
    (void)os::Send(socket->get(), Garbage(round));
    (void)os::Send(socket->get(), Garbage(round + 1));
  }
  std::puts("sent");
  return 0;
}

// A sparse file costs its sender nothing.
int SendBodiesInFiles(const std::string& path, unsigned long count) {
  const auto file = os::CreateMemory("body", 64ull << 20);
  if (!file) return Complain(file.error().text);
  ByteWriter head;
  head.Put(wire::MessageHead{.kind = wire::MessageKind::kCommand, .serial = 1, .flags = wire::kBodyInFile});
  const int fd = file->get();
  unsigned long answered = 0;
  for (unsigned long i = 0; i < count; ++i) {
    const auto socket = os::Connect(path);
    if (!socket) return Complain(socket.error().text);
    if (!os::Send(socket->get(), head.bytes(), std::span(&fd, 1))) continue;  // it takes no files
    const auto answer = ipc::ReceiveMessage(socket->get(), 20'000);
    if (answer && !answer->closed) ++answered;
  }
  std::printf("%lu of %lu were read\n", answered, count);
  return 0;
}

int HoldSilently(const std::string& path, unsigned long count) {
  std::vector<os::Fd> held;
  while (held.size() < count) {
    auto socket = os::Connect(path);
    if (!socket) return Complain(socket.error().text);
    held.push_back(std::move(*socket));
  }
  std::puts("holding");
  std::fflush(stdout);
  pause();
  return 0;
}

int ReconnectSilently(const std::string& path) {
  os::Fd before;
  for (bool first = true;; first = false) {
    auto socket = os::Connect(path);
    if (!socket) return Complain(socket.error().text);
    before = std::move(*socket);  // which closes the one before only now
    if (first) std::puts("reconnecting");
    std::fflush(stdout);
    usleep(1000);
  }
}

int ListenInAnotherLanguage(const std::string& path) {
  const auto listener = os::Listen(path, 0666);
  if (!listener) return Complain(listener.error().text);
  std::puts("listening");
  std::fflush(stdout);
  for (;;) {
    const auto socket = os::Accept(listener->get());
    if (!socket || !os::Receive(socket->get(), 100)) continue;
    (void)os::Send(socket->get(), Garbage(64));
  }
}

int SayHellos(const std::string& path, unsigned long times) {
  for (unsigned long i = 0; i < times; ++i) {
    const auto socket = os::Connect(path, 20'000);
    if (!socket) return Complain(socket.error().text);
    ByteWriter body;
    wire::Put(body, MyHello("hello"));
    (void)ipc::SendMessage(socket->get(), wire::MessageKind::kHello, 1, std::move(body));
  }
  std::puts("done");
  return 0;
}

// The last reference to the socket is in flight: whoever closes it blocks until its data are read, and nobody reads
// them.
int SendLingering(const std::string& path) {
  auto [lingering, unread] = os::MakeLingeringSocket();
  if (!lingering) return Complain("no TCP over loopback");
  const auto socket = os::Connect(path);
  if (!socket) return Complain(socket.error().text);
  ByteWriter body;
  body.PutString("get_server_list");
  const int fd = lingering.get();
  const auto sent = ipc::SendMessage(socket->get(), wire::MessageKind::kCommand, 1, std::move(body), std::span(&fd, 1));
  if (sent) lingering.Reset();
  std::puts(sent ? "sent" : "not taken");
  std::fflush(stdout);
  pause();
  return 0;
}

int TraceToItsEnd(pid_t pid) {
  if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) return Complain("cannot be traced");
  kill(pid, SIGKILL);
  std::puts("tracing");
  std::fflush(stdout);
  pause();
  return 0;
}

// Connections that end in every way: silent, after a part of a message, and as a client or a shell that leaves with its
// answer.
int Churn(const std::string& path, unsigned long times) {
  for (unsigned long round = 0; round < times; ++round) {
    const auto socket = os::Connect(path);
    if (!socket) return Complain(socket.error().text);
    if (round % 4 == 0) continue;
    if (round % 4 == 1) {
      (void)os::Send(socket->get(), Garbage(static_cast<uint32_t>(round)));
      continue;
    }
    ByteWriter body;
    if (round % 4 == 2) wire::Put(body, MyHello("churn"));
    if (round % 4 == 3) body.PutString("get_server_list");
    (void)ipc::SendMessage(socket->get(), round % 4 == 2 ? wire::MessageKind::kHello : wire::MessageKind::kCommand, 1,
                           std::move(body));
    (void)ipc::ReceiveMessage(socket->get(), 20'000);
  }
  std::puts("done");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = Environment("CUDA_MPS_PIPE_DIRECTORY") + "/control";
  if (argc > 1 && std::string(argv[1]) == "--garbage") return SendGarbage(path);
  if (argc > 2 && std::string(argv[1]) == "--bodies") return SendBodiesInFiles(path, std::stoul(argv[2]));
  if (argc > 2 && std::string(argv[1]) == "--silent") return HoldSilently(path, std::stoul(argv[2]));
  if (argc > 1 && std::string(argv[1]) == "--restless") return ReconnectSilently(path);
  if (argc > 2 && std::string(argv[1]) == "--churn") return Churn(path, std::stoul(argv[2]));
  if (argc > 2 && std::string(argv[1]) == "--hellos") return SayHellos(path, std::stoul(argv[2]));
  if (argc > 1 && std::string(argv[1]) == "--linger") return SendLingering(path);
  if (argc > 2 && std::string(argv[1]) == "--trace") return TraceToItsEnd(std::stoi(argv[2]));
  if (argc > 1 && std::string(argv[1]) == "--listen") return ListenInAnotherLanguage(path);
  const auto socket = os::Connect(path);
  if (!socket) return Complain(socket.error().text);
  // --after FILE: speaks when the file is gone.
  if (argc > 2 && std::string(argv[1]) == "--after") {
    std::puts("connected");
    std::fflush(stdout);
    while (access(argv[2], F_OK) == 0) usleep(10'000);
  }
  ByteWriter body;
  wire::Put(body, MyHello(argv[0]));
  if (const auto sent = ipc::SendMessage(socket->get(), wire::MessageKind::kHello, 1, std::move(body)); !sent) {
    return Complain(sent.error().text);
  }
  const auto answer = ipc::ReceiveMessage(socket->get(), 20'000);
  if (!answer) return Complain(answer.error().text);
  if (answer->closed) return Complain("closed");
  if (answer->head.kind == wire::MessageKind::kRefuse) {
    ByteReader in(answer->body);
    const auto refuse = wire::GetRefuse(in).value();
    return Complain("refused " + std::to_string(refuse.status) + " " + refuse.text);
  }
  std::puts("welcome");
  std::fflush(stdout);
  if (argc > 1 && std::string(argv[1]) == "--hold") {
    (void)ipc::ReceiveMessage(socket->get());
    std::puts("closed");
  }
  return 0;
}
