// An executor as a kernel that has taken it over might have it: it agrees to everything, and sends files. What --vendor
// names says which:
//
//   unasked   with an answer that has none
//   pipe      a pipe in place of a module's description, and of memory
//   two       two memory files in place of one
//   behind    what was asked for, and a pipe behind it
//   device    a file of a device that is not the driver's
//   small     memory that is smaller than what was asked for
//   twice     the same memory each time
//   loses     nothing, but says that its context is lost
//   silent    nothing at all
//   above:HEX nothing, but the driver has no addresses below that one
//
// or that it ends, if it finds a file, which it removes:
//
//   ends_starting:FILE  before it has said anything
//   ends_taken:FILE     before it has a client
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "executor/protocol/exchange.h"
#include "executor/protocol/request.h"
#include "os/memory.h"
#include "os/socket.h"

namespace tutti::executor {
namespace {

Hello MakeHello() {
  Hello hello;
  hello.device.total_bytes = 64 << 20;
  hello.device.attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 1;
  return hello;
}

os::Fd PipeEnd() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  close(ends[1]);
  return os::Fd(ends[0]);
}

// As far as the server's socket takes them.
void SendAnswer(int socket, const Answer& answer, const std::vector<os::Fd>& files) {
  std::vector<int> fds;
  for (const os::Fd& file : files) fds.push_back(file.get());
  if (!os::Send(socket, Serialize(answer), fds)) (void)os::Send(socket, Serialize(answer));
}

void DoAnswer(int socket, const std::string& how, const Request& request) {
  Answer answer{.status = 0, .text = {}, .value = request.address};
  if (how.starts_with("above:") &&
      (request.kind == RequestKind::kFindAddresses || request.kind == RequestKind::kOpenWindow))
    answer.value = std::max(answer.value, uint64_t{std::stoull(how.substr(6), nullptr, 16)});
  const bool with_file = IsAnsweredWithFile(request.kind);
  const auto asked_for = [] { return std::move(*os::CreateMemory("tutti-hostile", 4096)); };
  std::vector<os::Fd> files;
  if (with_file && how == "pipe") files.push_back(PipeEnd());
  if (with_file && how == "device") files.emplace_back(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (request.kind == RequestKind::kMapSlab && how == "small") files.push_back(asked_for());
  if (request.kind == RequestKind::kMapSlab && how == "twice") {
    static const os::Fd memory = std::move(*os::CreateMemory("tutti-hostile", request.bytes));
    files.emplace_back(fcntl(memory.get(), F_DUPFD_CLOEXEC, 0));
  }
  if (with_file && (how == "two" || how == "behind")) files.push_back(asked_for());
  if (with_file && how == "two") files.push_back(asked_for());
  if (request.kind == RequestKind::kSetLimit && how == "unasked") files.push_back(PipeEnd());
  SendAnswer(socket, answer, files);
  if (!with_file || how != "behind") return;
  std::vector<os::Fd> more;
  more.push_back(PipeEnd());
  SendAnswer(socket, answer, more);
}

bool Finds(std::string_view kind, const std::string& how) {
  return how.starts_with(kind) && unlink(how.substr(kind.size()).c_str()) == 0;
}

// For its first client.
int Run(const std::string& how) {
  if (Finds("ends_starting:", how)) return 0;
  if (Finds("ends_taken:", how)) {
    shutdown(kControlFd, SHUT_RD);  // first: however long it then takes to end, it takes nobody
    (void)os::Send(kControlFd, Serialize(MakeHello()));
    return 0;
  }
  if (!os::Send(kControlFd, Serialize(MakeHello()))) return 1;
  const auto entered = os::Receive(kControlFd);
  if (!entered || entered->fds.size() != kPlaceFiles) return 0;
  const auto file = [&](PlaceFile which) { return entered->fds[static_cast<size_t>(which)].get(); };
  const int socket = file(PlaceFile::kSocket);
  const auto mapping = os::Mapping::Shared(file(PlaceFile::kExchange), sizeof(Exchange));
  if (!mapping) return 1;
  for (;;) {
    const auto message = os::Receive(socket);
    const auto request = message ? ParseRequest(message->bytes) : std::unexpected(message.error());
    if (!request) return 0;
    if (how == "loses") {
      auto* const exchange = reinterpret_cast<Exchange*>(mapping->data());
      exchange->context_lost.store(1);
      exchange->failure.store(cuda::CUDA_ERROR_LAUNCH_FAILED);
      continue;
    }
    if (how != "silent") DoAnswer(socket, how, *request);
  }
}

}  // namespace
}  // namespace tutti::executor

int main(int argc, char** argv) { return argc > 2 ? tutti::executor::Run(argv[2]) : 2; }
