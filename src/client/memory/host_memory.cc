#include "client/memory/host_memory.h"

#include <sys/mman.h>

#include "client/base/complaint.h"
#include "client/session/attachment.h"
#include "cuda/result.h"
#include "os/fd.h"
#include "os/memory.h"
#include "wire/messages.h"

namespace tutti::client {
namespace {

Answer<os::Fd> FileOf(uint64_t number) {
  ByteWriter body;
  wire::Put(body, wire::HostMemoryFile{.number = number});
  auto answer = Attachment::Get().connection().Call(wire::MessageKind::kHostMemoryFile, std::move(body), {},
                                                    wire::MessageKind::kHostMemoryFileReply);
  if (!answer) return Refuse(answer.error().code != 0 ? answer.error().code : cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  ByteReader in(answer->body);
  const auto reply = wire::GetDescribeMemoryReply(in);
  if (!reply) return Refuse(cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  if (reply->status != 0) return Refuse(Complain(reply->status, "memory of the host: {}", reply->text));
  if (answer->fds.empty()) return Refuse(cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  return std::move(answer->fds.front());
}

}  // namespace

Answer<uint64_t> CreateHostMemory(uint64_t bytes) {
  const ipc::Reply reply =
      Attachment::Get().replies().Call(wire::RecordKind::kHostMemory, wire::HostMemoryBody{.bytes = bytes});
  if (reply.status == 0) return reply.value[0];
  return Refuse(Complain(reply.status,
                         "{} bytes of memory of the host that processes share: more than this process, or all of its "
                         "server, may have",
                         bytes));
}

int ShowToHost(uint64_t address, uint64_t bytes, uint64_t number, bool writable) {
  CU_ASSIGN(const os::Fd file, FileOf(number));
  void* const at = reinterpret_cast<void*>(address);
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  if (mmap(at, bytes, protection, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file.get(), 0) != MAP_FAILED &&
      madvise(at, bytes, MADV_DONTFORK) == 0)
    return cuda::CUDA_SUCCESS;
  HideFromHost(address, bytes);
  return Complain(cuda::CUDA_ERROR_OUT_OF_MEMORY, "the system refuses to map {} bytes of memory of the host", bytes);
}

// If the system has no room for another mapping, what is there stays until the addresses are used again.
void HideFromHost(uint64_t address, uint64_t bytes) {
  void* const at = reinterpret_cast<void*>(address);
  if (mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED)
    madvise(at, bytes, MADV_DONTFORK);
}

}  // namespace tutti::client
