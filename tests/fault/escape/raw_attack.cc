#include "raw_attack.h"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "os/memory.h"

namespace tutti::fault {

using wire::RecordKind;

Attacker::Attacker(std::unique_ptr<ipc::ClientConnection> connection, const Targets& targets)
    : connection_(std::move(connection)), targets_(targets) {
  Submit(RecordKind::kStreamCreate, wire::StreamCreateBody{.device = 0, .context = 1});
}

uint64_t Attacker::Allocate(uint64_t bytes, wire::MemoryKind kind) {
  const uint64_t address =
      connection_->replies()
          .Call(RecordKind::kAllocate, wire::AllocateBody{.bytes = bytes, .alignment = 256, .kind = kind})
          .value[0];
  connection_->window().Open(address, bytes);
  return address;
}

uint32_t Attacker::Load(const char* ptx, uint32_t* kernel) {
  auto image = os::CreateMemoryOf("image", {reinterpret_cast<const uint8_t*>(ptx), std::strlen(ptx)});
  ByteWriter body;
  wire::Put(body, wire::LoadModule{.device = 0});
  const int fds[] = {image->get()};
  auto reply =
      connection_->Call(wire::MessageKind::kLoadModule, std::move(body), fds, wire::MessageKind::kLoadModuleReply);
  if (!reply) return 0;
  ByteReader in(reply->body);
  const auto loaded = wire::GetLoadModuleReply(in);
  if (!loaded || loaded->status != 0) return 0;
  if (kernel != nullptr) {
    const auto prepared =
        connection_->replies().Call(RecordKind::kPrepare, wire::PrepareBody{.module = loaded->module, .function = 0});
    *kernel = static_cast<uint32_t>(prepared.value[0]);
  }
  return loaded->module;
}

int Attacker::socket() const {
  // The connection keeps it to itself; a process can find it all the same.
  for (int fd = 3; fd < 64; ++fd) {
    char name[64] = "";
    const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof name - 1);
    if (length > 0 && std::string(name).starts_with("socket:")) return fd;
  }
  return -1;
}

End Attacker::Outcome(End expected) {
  Settle();
  for (int i = 0; expected == End::kSession && i < 3000 && connection_->watch().Check() == 0; ++i) usleep(10'000);
  if (connection_->watch().Check() != 0) return End::kSession;
  if (channel().header.states[0].error.load() != 0) return End::kFault;
  return refused ? End::kRefused : End::kNothing;
}

}  // namespace tutti::fault
