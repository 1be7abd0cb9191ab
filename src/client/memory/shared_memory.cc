#include "client/memory/shared_memory.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "client/base/complaint.h"
#include "client/session/attachment.h"
#include "cuda/result.h"
#include "os/memory.h"
#include "wire/messages.h"

namespace tutti::client {
namespace {

using wire::ShareHandle;

std::unexpected<int> Alone() {
  return Refuse(
      Complain(cuda::CUDA_ERROR_NOT_SUPPORTED,
               "sharing memory between processes: this one has a server of its own; start a daemon that all of "
               "them use (tutti-daemon, or nvidia-cuda-mps-control -d)"));
}

bool HasSharedServer() { return Attachment::Get().header().shared_server != 0; }

// The server's answer for what a handle names.
int Explained(int status) {
  if (status == cuda::CUDA_ERROR_INVALID_HANDLE) {
    return Complain(
        status,
        "the shared memory is not there: it has been freed, its process has ended, or it belongs to another "
        "server (are both processes of one user, and of one daemon?)");
  }
  if (status == cuda::CUDA_ERROR_NOT_PERMITTED) {
    return Complain(
        status,
        "the daemon does not allow to share this memory: memory_sharing of a namespace is off, or the other "
        "process is another user's (set_memory_sharing, namespace set --memory-sharing)");
  }
  return status;
}

Answer<wire::ExportedMemory> Export(const wire::ExportBody& body) {
  if (!HasSharedServer()) return Alone();
  const ipc::Reply reply = Attachment::Get().replies().Call(wire::RecordKind::kExport, body);
  if (reply.status == cuda::CUDA_ERROR_NOT_SUPPORTED) {
    return Refuse(
        Complain(reply.status,
                 "the allocation at {:#x} shares a page with others of this process, since there are very many "
                 "small ones: share one of 4 KiB or more",
                 body.address));
  }
  if (reply.status != 0) return Refuse(Explained(reply.status));
  return wire::ExportedMemory{.id = reply.value[0], .secret = {reply.value[1], reply.value[2]}};
}

}  // namespace

Answer<wire::ExportedMemory> ExportMemory(uint64_t address, bool end_with_largest) {
  return Export({.address = address, .end_with_largest = end_with_largest ? 1u : 0u, .source = wire::MapSource::kOwn});
}

Answer<wire::ExportedMemory> ExportHostMemory(uint64_t number) {
  return Export({.address = number, .end_with_largest = 0, .source = wire::MapSource::kImported});
}

Answer<os::Fd> DescribeMemory(const wire::ExportedMemory& name) {
  ByteWriter body;
  wire::Put(body, wire::DescribeMemory{.memory = name});
  auto answer = Attachment::Get().connection().Call(wire::MessageKind::kDescribeMemory, std::move(body), {},
                                                    wire::MessageKind::kDescribeMemoryReply);
  if (!answer) return Refuse(answer.error().code != 0 ? answer.error().code : cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  ByteReader in(answer->body);
  const auto reply = wire::GetDescribeMemoryReply(in);
  if (!reply) return Refuse(cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  if (reply->status != 0) return Refuse(Complain(reply->status, "exporting memory: {}", reply->text));
  if (answer->fds.empty()) return Refuse(cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  return std::move(answer->fds.front());
}

Answer<os::Fd> DescribePool(uint64_t number) {
  const ShareHandle said{.kind = wire::ShareKind::kPool, .memory = {}, .pool = number};
  auto file = os::CreateMemoryOf("tutti-memory-pool", {reinterpret_cast<const uint8_t*>(&said), sizeof said});
  if (!file) return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  return std::move(*file);
}

Answer<ShareHandle> ReadDescriptor(int fd) {
  ShareHandle handle;
  ssize_t bytes = recv(fd, &handle, sizeof handle, MSG_PEEK | MSG_DONTWAIT);
  if (bytes < 0) bytes = pread(fd, &handle, sizeof handle, 0);  // a pool's is a file
  if (bytes != sizeof handle || handle.magic != ShareHandle::kMagic) {
    return Refuse(Complain(cuda::CUDA_ERROR_INVALID_VALUE,
                           "descriptor {} is not one that cuMemExportToShareableHandle or "
                           "cuMemPoolExportToShareableHandle has made here",
                           fd));
  }
  if (handle.version != ShareHandle::kVersion)
    return Refuse(Complain(cuda::CUDA_ERROR_INVALID_VALUE, "descriptor {} is of version {} of Tutti's handles, not {}",
                           fd, handle.version, ShareHandle::kVersion));
  return handle;
}

Answer<ShareHandle> CheckHandle(const void* bytes, wire::ShareKind kind) {
  ShareHandle handle;
  std::memcpy(&handle, bytes, sizeof handle);
  if (handle.magic == ShareHandle::kMagic && handle.version == ShareHandle::kVersion && handle.kind == kind)
    return handle;
  return Refuse(Complain(cuda::CUDA_ERROR_INVALID_HANDLE,
                         "the handle is not one that this library has made for this purpose in this version"));
}

Answer<ImportedMemory> ImportMemory(const wire::ExportedMemory& name) {
  if (!HasSharedServer()) return Alone();
  const ipc::Reply reply =
      Attachment::Get().replies().Call(wire::RecordKind::kImport, wire::ImportBody{.memory = name});
  if (reply.status != 0) return Refuse(Explained(reply.status));
  return ImportedMemory{.number = reply.value[0],
                        .bytes = reply.value[1],
                        .device = static_cast<uint32_t>(reply.value[2]),
                        .own = (reply.value[3] & wire::kImportOwn) != 0,
                        .host = (reply.value[3] & wire::kImportHost) != 0};
}

bool MayImportFile(int fd) {
  if (HasSharedServer()) return false;
  const auto bytes = os::SealedMemorySize(fd);
  return bytes && *bytes >= wire::kReservedAlignment && *bytes % wire::kReservedAlignment == 0;
}

Answer<ImportedMemory> ImportFile(int fd) {
  if (!MayImportFile(fd)) return Refuse(cuda::CUDA_ERROR_NOT_SUPPORTED);
  const int fds[] = {fd};
  auto answer = Attachment::Get().connection().Call(wire::MessageKind::kImportFile, ByteWriter(), fds,
                                                    wire::MessageKind::kImportFileReply);
  if (!answer) return Refuse(answer.error().code != 0 ? answer.error().code : cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  ByteReader in(answer->body);
  const auto reply = wire::GetImportFileReply(in);
  if (!reply) return Refuse(cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  if (reply->status != 0) return Refuse(Complain(reply->status, "importing a memory file: {}", reply->text));
  return ImportedMemory{.number = reply->number, .bytes = reply->bytes, .device = 0, .own = true};
}

void DropImport(uint64_t number) {
  Attachment::Get().ring().Submit(wire::RecordKind::kImportDrop, 0, wire::ImportDropBody{.number = number});
}

int MapMemory(uint64_t address, uint64_t bytes, wire::MapAccess access, wire::MapSource source, uint64_t memory) {
  const wire::MapBody body{.address = address, .bytes = bytes, .memory = memory, .source = source, .access = access};
  const int status = Attachment::Get().replies().Call(wire::RecordKind::kMap, body).status;
  if (status != cuda::CUDA_ERROR_OUT_OF_MEMORY) return status;
  return Complain(status, "mapping {} bytes at {:#x}: the process, or all of its server, has too many mappings", bytes,
                  address);
}

Answer<uint64_t> AddToWord(uint64_t address, uint64_t add) {
  Attachment& attachment = Attachment::Get();
  if (attachment.Reaches(address, sizeof address)) {
    const std::atomic_ref word(*reinterpret_cast<uint64_t*>(address));
    return add == 0 ? word.load(std::memory_order_acquire) : word.fetch_add(add, std::memory_order_acq_rel);
  }
  const wire::WordBody body{.address = address, .add = add, .bytes = sizeof address, .reserved = 0};
  const ipc::Reply reply = attachment.replies().Call(wire::RecordKind::kWord, body);
  if (reply.status != 0) return Refuse(reply.status);
  return reply.value[0];
}

}  // namespace tutti::client
