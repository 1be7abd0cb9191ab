// tutti-executor. Started by tutti-server: holds one context of the vendor's driver and does what the server tells it,
// for one client (docs/adr/0016-executors-hold-the-vendors-context.md). It is expendable: whatever happens here costs
// its client, and nobody else.
//
// Two threads use the context: one answers requests, the other takes the records of the ring.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "command_line/command_line.h"
#include "executor/confinement.h"
#include "executor/device.h"
#include "executor/modules.h"
#include "executor/protocol/request.h"
#include "executor/submitter.h"
#include "executor/window.h"
#include "os/lifeline.h"
#include "os/memory.h"
#include "os/socket.h"
#include "os/thread.h"

namespace tutti::executor {
namespace {

constexpr uint64_t kMostImageBytes = 512ull << 20;

// Answers the server's requests. Of one thread.
class Requests {
 public:
  Requests(const Vendor& vendor, const Device& device, Modules* modules)
      : vendor_(vendor), modules_(modules), window_(vendor, device.device) {}

  // Until the server closes.
  Status Serve() {
    for (;;) {
      TUTTI_ASSIGN(os::Message message, os::Receive(kSocketFd));
      if (message.bytes.empty()) return {};
      TUTTI_ASSIGN(const Request request, ParseRequest(message.bytes));
      os::Fd given = message.fds.empty() ? os::Fd() : std::move(message.fds.front());
      os::Fd file;
      Answer answer;
      if (const Status done = Do(request, std::move(given), &answer, &file); !done) {
        answer = {.status = done.error().code != 0 ? done.error().code : cuda::CUDA_ERROR_UNKNOWN,
                  .text = done.error().text};
        file.Reset();
      }
      const int fds[] = {file.get()};
      TUTTI_TRY(os::Send(kSocketFd, Serialize(answer), {fds, file ? size_t{1} : size_t{0}}));
    }
  }

 private:
  Status Do(const Request& request, os::Fd given, Answer* answer, os::Fd* file) {
    switch (request.kind) {
      case RequestKind::kOpenWindow: {
        TUTTI_ASSIGN(answer->value, window_.Open(std::move(given), request.host_bytes, request.bytes, request.address));
        return {};
      }
      case RequestKind::kAttachHost: return window_.AttachHost(request.address, request.bytes);
      case RequestKind::kMapSlab:
        return window_.MapSlab(request.address, request.bytes, (request.flags & kShareable) != 0);
      case RequestKind::kUnmapSlab: return window_.UnmapSlab(request.address, request.bytes);
      case RequestKind::kExportSlab: {
        TUTTI_ASSIGN(*file, window_.ExportSlab(request.address));
        return {};
      }
      case RequestKind::kMapMemory:
        return window_.MapMemory(request.address, request.bytes, given, (request.flags & kReadOnly) == 0);
      case RequestKind::kSetAccess:
        return window_.SetAccess(request.address, request.bytes, (request.flags & kReadOnly) == 0);
      case RequestKind::kClear: return window_.Clear(request.address, request.bytes);
      case RequestKind::kReadWord: {
        TUTTI_ASSIGN(answer->value, window_.ReadWord(request.address, request.bytes));
        return {};
      }
      case RequestKind::kSetLimit:
        return vendor_.Check(vendor_.cuCtxSetLimit(static_cast<cuda::CUlimit>(request.limit), request.bytes),
                             "cuCtxSetLimit");
      case RequestKind::kLoadModule: {
        TUTTI_ASSIGN(const os::Mapping image, os::Mapping::Constant(given.get(), kMostImageBytes));
        TUTTI_ASSIGN(Modules::Loaded loaded, modules_->Load(request.module, {image.data(), image.size()}));
        answer->text = std::move(loaded.log);
        TUTTI_ASSIGN(*file, os::CreateMemoryOf("tutti-module-info", module::Serialize(loaded.info)));
        return {};
      }
      case RequestKind::kUnloadModule: return modules_->Unload(request.module);
      case RequestKind::kOccupancy: {
        TUTTI_ASSIGN(answer->value, modules_->BlocksPerSm(request.module, request.kernel, request.block_threads,
                                                          request.dynamic_shared_bytes));
        return {};
      }
    }
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "a request of unknown kind");
  }

  const Vendor& vendor_;
  Modules* const modules_;
  Window window_;
};

Status Run(const std::string& vendor_path, TextCapture* texts) {
  Hello hello;
  auto vendor = Vendor::Open(vendor_path);
  const Status entered = EnterDomain(vendor && vendor->ours);
  auto device = vendor ? OpenDevice(*vendor) : std::unexpected(vendor.error());
  const Status filtered = FilterSystemCalls();
  if (device) {
    hello.device = device->info;
    for (const Status* const confined : {&entered, &filtered}) {
      if (!*confined) hello.text += (hello.text.empty() ? "" : "; ") + confined->error().text;
    }
  } else {
    hello.status = device.error().code != 0 ? device.error().code : cuda::CUDA_ERROR_UNKNOWN;
    hello.text = device.error().text;
  }
  TUTTI_TRY(os::Send(kSocketFd, Serialize(hello)));
  if (!device) return std::unexpected(device.error());

  TUTTI_ASSIGN(const os::Mapping mapping, os::Mapping::Shared(kExchangeFd, sizeof(Exchange)));
  Modules modules(*vendor);
  Submitter submitter(*vendor, &modules, reinterpret_cast<Exchange*>(mapping.data()), kBellFd, texts);
  os::StartThread("submit", [&] {
    if (vendor->cuCtxSetCurrent(device->context) == cuda::CUDA_SUCCESS) submitter.Run();
  }).detach();
  const Status served = Requests(*vendor, *device, &modules).Serve();
  // The driver may have threads that nothing ends, and the server waits for nothing that we still have.
  _exit(served ? 0 : 1);
}

}  // namespace
}  // namespace tutti::executor

int main(int argc, char** argv) {
  std::string vendor;
  tutti::command_line::Command line(
      "tutti-executor",
      "tutti-executor: holds a context of the GPU's driver for one program. Started by tutti-server.");
  line.Version("tutti-executor " TUTTI_VERSION);
  line.AddOption("--vendor", &vendor, "path of the vendor's libcuda.so.1");
  if (const auto status = line.Parse(argc, argv)) return *status;
  tutti::executor::HideMemory();
  tutti::os::EndWith(tutti::executor::kLifelineFd);
  signal(SIGPIPE, SIG_IGN);
  auto texts = tutti::executor::TextCapture::Start();
  const auto run = texts ? tutti::executor::Run(vendor, &*texts) : std::unexpected(texts.error());
  if (!run) dprintf(texts ? texts->messages() : STDERR_FILENO, "tutti-executor: %s\n", run.error().text.c_str());
  return run ? 0 : 1;
}
