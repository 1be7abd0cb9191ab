// A client that only shakes hands: prints "welcome" or "refused CODE TEXT", then with --hold stays until its connection is
// closed and prints "closed". Its limits come from the CUDA_MPS_ environment variables, as a program's would.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "ipc/message.h"
#include "os/socket.h"
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

}  // namespace

int main(int argc, char** argv) {
  const auto socket = os::Connect(Environment("CUDA_MPS_PIPE_DIRECTORY") + "/control");
  if (!socket) return Complain(socket.error().text);
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
