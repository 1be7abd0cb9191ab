// A client's requests over its session socket: module loads, and the log of a kernel whose preparation failed.
#include <fmt/format.h>

#include "cuda/result.h"
#include "os/memory.h"
#include "os/socket.h"
#include "server/session.h"

namespace tutti::server {
namespace {

constexpr uint64_t kMaxImageBytes = 512ull << 20;
constexpr uint64_t kMaxOwnFileBytes = 1ull << 46;  // of a private server's client: sparse, and its own memory
constexpr uint32_t kMaxCalls = 32;    // concurrent; the client library makes one at a time
constexpr size_t kMaxKeptLogs = 256;  // of kernels

}  // namespace

Status Session::OnReadable() {
  ipc::InTheWay in_the_way;
  const uint64_t most_bytes = services_.shared_server ? kMaxImageBytes : kMaxOwnFileBytes;
  auto received = ipc::ReceiveRequest(socket_->get(), most_bytes, &in_the_way);
  if (in_the_way) {
    RefuseFiles(received ? received->head : wire::MessageHead{}, std::move(in_the_way));
    return {};
  }
  // A client that died with a reply unread causes a reset in place of end of file.
  if (!received && os::HungUp(socket_->get())) return Fail("");
  TUTTI_ASSIGN(ipc::Envelope envelope, std::move(received));
  if (envelope.closed) return Fail("");
  if (envelope.head.kind == wire::MessageKind::kLoadModule) {
    return envelope.fds.empty() ? Fail("LoadModule without an image") : HandleLoadModule(std::move(envelope));
  }
  if (envelope.head.kind == wire::MessageKind::kImportFile) {
    return envelope.fds.empty() ? Fail("ImportFile without a file") : HandleImportFile(std::move(envelope));
  }
  if (!envelope.fds.empty()) return Fail("a memory file that is not a module's image");
  if (envelope.head.kind == wire::MessageKind::kQueryModule) return HandleQueryModule(envelope);
  if (envelope.head.kind == wire::MessageKind::kDescribeMemory) return HandleDescribeMemory(envelope);
  if (envelope.head.kind == wire::MessageKind::kHostMemoryFile) return HandleHostMemoryFile(envelope);
  return Fail(fmt::format("message of kind {}", static_cast<unsigned>(envelope.head.kind)));
}

// A DescriptorTakers thread closes a descriptor that comes beside a memory file, or in its place, or that this process
// has no number for; the next message is read when that is done. The thread holds one descriptor at most: the kernel
// closes the message's others as it is discarded.
void Session::RefuseFiles(wire::MessageHead head, ipc::InTheWay in_the_way) {
  services_.listen(info_.id, false);
  const auto files = std::make_shared<ipc::InTheWay>(std::move(in_the_way));
  services_.takers->Add(info_.party, [head, files, socket = socket_, id = info_.id, post = services_.post] {
    // Answered first, since closing what the client has sent may block as long as the client likes.
    const bool module = head.kind == wire::MessageKind::kLoadModule;
    if (module && files->out_of_fds) {
      ipc::SendRefusal(socket->get(), head.serial, cuda::CUDA_ERROR_OUT_OF_MEMORY,
                       "the server has no file descriptor left for a module's image; its limit is RLIMIT_NOFILE");
    } else if (module) {
      ipc::SendRefusal(socket->get(), head.serial, cuda::CUDA_ERROR_INVALID_IMAGE,
                       fmt::format("a module's image is one memory file of {} bytes at most", kMaxImageBytes));
    } else {
      post(id, [](Session&) -> Status { return Fail("descriptors that are not a module's image"); });
    }
    files->first.Reset();
    const Status discarded = os::Discard(socket->get());
    if (!module) return;
    if (!discarded) return post(id, [discarded](Session&) { return discarded; });
    post(id, [](Session& session) -> Status {
      session.services_.listen(session.info_.id, true);
      return {};
    });
  });
}

Status Session::HandleLoadModule(ipc::Envelope envelope) {
  ByteReader in(envelope.body);
  TUTTI_ASSIGN(const wire::LoadModule request, wire::GetLoadModule(in));
  if (calls_.fetch_add(1, std::memory_order_relaxed) >= kMaxCalls) return Fail("too many calls at once");
  const uint32_t serial = envelope.head.serial;
  TUTTI_TRY(MayUse(request.device));
  if (request.device >= services_.backend->devices().size()) {
    calls_.fetch_sub(1, std::memory_order_relaxed);
    ipc::SendRefusal(socket_->get(), serial, cuda::CUDA_ERROR_INVALID_DEVICE,
                     fmt::format("there is no device {}", request.device));
    return {};
  }
  // The image stays in the client's memory, mapped, so while it waits for a loader it holds no descriptor of ours.
  auto mapped = os::Mapping::Constant(envelope.fds.front().get(), kMaxImageBytes);
  if (!mapped) {
    calls_.fetch_sub(1, std::memory_order_relaxed);
    ipc::SendRefusal(socket_->get(), serial, cuda::CUDA_ERROR_INVALID_IMAGE, mapped.error().text);
    return {};
  }
  // Shared, since a std::function must be copyable.
  const auto image = std::make_shared<os::Mapping>(std::move(*mapped));
  const bool taken =
      services_.loaders->Add(info_.id, [self = shared_from_this(), serial, device = request.device, image] {
        if (!self->over()) self->LoadModule(serial, device, *image);
        self->calls_.fetch_sub(1, std::memory_order_relaxed);
      });
  if (!taken) return Fail("the client already waits for as many modules as it may");
  return {};
}

void Session::LoadModule(uint32_t serial, uint32_t device, const os::Mapping& image) {
  const auto module = space_->LoadModule(device, {image.data(), image.size()});
  ByteWriter body;
  if (!module) {
    wire::Put(body, wire::LoadModuleReply{
                        .status = module.error().code != 0 ? module.error().code : cuda::CUDA_ERROR_INVALID_IMAGE,
                        .log = module.error().text});
    return Answer(wire::MessageKind::kLoadModuleReply, serial, std::move(body));
  }
  const auto info = os::CreateMemoryOf("tutti-module-info", module::Serialize(module->info));
  if (!info) return ipc::SendRefusal(socket_->get(), serial, cuda::CUDA_ERROR_OUT_OF_MEMORY, info.error().text);
  wire::Put(body, wire::LoadModuleReply{.module = module->id, .log = module->log});
  const int fds[] = {info->get()};
  Answer(wire::MessageKind::kLoadModuleReply, serial, std::move(body), fds);
}

Status Session::HandleQueryModule(const ipc::Envelope& envelope) {
  ByteReader in(envelope.body);
  TUTTI_ASSIGN(const wire::QueryModule request, wire::GetQueryModule(in));
  wire::QueryModuleReply reply;
  {
    std::lock_guard lock(logs_mutex_);
    const auto it = prepare_logs_.find({request.module, request.function});
    if (it != prepare_logs_.end()) reply.log = it->second;
  }
  ByteWriter body;
  wire::Put(body, reply);
  Answer(wire::MessageKind::kQueryModuleReply, envelope.head.serial, std::move(body));
  return {};
}

void Session::KeepPrepareLog(uint32_t module, uint32_t function, std::string text) {
  text.resize(std::min(text.size(), wire::kMaxLogBytes));
  std::lock_guard lock(logs_mutex_);
  if (prepare_logs_.size() >= kMaxKeptLogs) prepare_logs_.erase(prepare_logs_.begin());
  prepare_logs_[{module, function}] = std::move(text);
}

void Session::Answer(wire::MessageKind kind, uint32_t serial, ByteWriter body, std::span<const int> fds) {
  if (auto sent = ipc::SendMessage(socket_->get(), kind, serial, std::move(body), fds); !sent && !over()) {
    Break("does not read its answers: " + sent.error().text);
  }
}

}  // namespace tutti::server
