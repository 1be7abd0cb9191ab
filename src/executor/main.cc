// tutti-executor. Started by tutti-server: holds one context of the vendor's driver and does what the server tells it,
// for one client, or for several of one user (docs/adr/0016-executors-hold-the-vendors-context.md). It is expendable:
// whatever happens here costs its clients, and nobody else.
//
// One thread takes clients, two more serve each of them (executor/place.h).
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "command_line/command_line.h"
#include "executor/confinement.h"
#include "executor/context.h"
#include "executor/device.h"
#include "executor/device_files.h"
#include "executor/fence_memory.h"
#include "executor/leftovers.h"
#include "executor/place.h"
#include "executor/protocol/request.h"
#include "executor/text_capture.h"
#include "executor/zeros.h"
#include "os/lifeline.h"
#include "os/socket.h"
#include "os/thread.h"

namespace tutti::executor {
namespace {

// A place that could not give everything back is in the others' way as long as the process runs. Where the context is
// lost that is none of its own making: then the server, which is told so, ends the process when all clients have gone.
void ServeClient(const Place::Executor& executor, std::unique_ptr<Place> place) {
  const Status closed = place->Run();
  if (closed) return;
  executor.context->NoteFailure(closed.error());  // a kernel's, that it has waited for, is seen here first
  if (executor.context->lost()) return static_cast<void>(place.release());
  dprintf(executor.texts->messages(), "tutti-executor: what a client had cannot be given back: %s\n",
          closed.error().text.c_str());
  _exit(1);
}

// Until the server closes. A client for whom there is no room is told so by the end of its socket.
Status TakeClients(const Place::Executor& executor) {
  for (;;) {
    TUTTI_ASSIGN(os::Message message, os::Receive(kControlFd));
    if (message.bytes.empty()) return {};
    auto place = Place::Create(executor, std::move(message));
    if (!place) continue;
    std::thread serves = os::TryStartThread(
        "place", [&executor, place = std::move(*place)]() mutable { ServeClient(executor, std::move(place)); });
    if (serves.joinable()) serves.detach();
  }
}

// `hidden`: of HideMemory.
Status Run(const std::string& vendor_path, const Status& hidden, TextCapture* texts) {
  Hello hello;
  auto vendor = Vendor::Open(vendor_path);
  if (vendor && !vendor->ours) MakeDeviceFiles();
  const Status entered = EnterDomain(vendor && vendor->ours);
  auto device = vendor ? OpenDevice(*vendor) : std::unexpected(vendor.error());
  std::optional<Context> context;
  if (device) {
    context.emplace(*vendor);
    if (const Status opened = context->Open(); !opened) device = std::unexpected(opened.error());
  }
  const Status filtered = FilterSystemCalls(), left_out = CheckWhatIsLeftOut();
  if (device) {
    hello.device = device->info;
    for (const Status* const confined : {&left_out, &hidden, &entered, &filtered}) {
      if (!*confined) hello.text += (hello.text.empty() ? "" : "; ") + confined->error().text;
    }
  } else {
    hello.status = device.error().code != 0 ? device.error().code : cuda::CUDA_ERROR_UNKNOWN;
    hello.text = device.error().text;
  }
  TUTTI_TRY(os::Send(kControlFd, Serialize(hello)));
  if (!device) return std::unexpected(device.error());
  FenceMemory fence_memory(*vendor);
  const Zeros zeros(*vendor);
  Leftovers leftovers(*vendor, &*context, device->context);
  const Status served = TakeClients({.vendor = &*vendor,
                                     .device = &*device,
                                     .context = &*context,
                                     .texts = texts,
                                     .fence_memory = &fence_memory,
                                     .leftovers = &leftovers,
                                     .zeros = &zeros});
  // The driver may have threads that nothing ends, as places may, and the server waits for nothing that we still have.
  _exit(served ? 0 : 1);
}

}  // namespace
}  // namespace tutti::executor

int main(int argc, char** argv) {
  std::string vendor;
  tutti::command_line::Command line(
      "tutti-executor", "tutti-executor: holds a context of the GPU's driver for programs. Started by tutti-server.");
  line.Version("tutti-executor " TUTTI_VERSION);
  line.AddOption("--vendor", &vendor, "path of the vendor's libcuda.so.1");
  if (const auto status = line.Parse(argc, argv)) return *status;
  const auto hidden = tutti::executor::HideMemory();
  tutti::os::EndWith(tutti::executor::kLifelineFd);
  signal(SIGPIPE, SIG_IGN);
  auto texts = tutti::executor::TextCapture::Start();
  const auto run = texts ? tutti::executor::Run(vendor, hidden, &*texts) : std::unexpected(texts.error());
  if (!run) dprintf(texts ? texts->messages() : STDERR_FILENO, "tutti-executor: %s\n", run.error().text.c_str());
  return run ? 0 : 1;
}
