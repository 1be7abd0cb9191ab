#include "client/entry/called_stream.h"

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/graph/capture.h"

namespace tutti::client::entry {

Answer<Stream*> StreamOf(cuda::CUstream handle, StreamUse use) {
  const auto word = reinterpret_cast<uintptr_t>(handle);
  if (word > cuda::kStreamPerThreadHandle) {
    Stream* stream = Stream::Find(handle);
    if (stream == nullptr) return Refuse(cuda::CUDA_ERROR_INVALID_HANDLE);
    if (const int status = stream->context().Check(); status != 0) return Refuse(status);
    return stream;
  }
  CU_ASSIGN_OR_REFUSE(Context* const context, UsableContext());
  const bool own = word == cuda::kStreamPerThreadHandle || (word == 0 && per_thread_default);
  Stream* stream = own ? PerThreadStream(*context) : context->legacy();
  if (stream == nullptr) return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  const bool captured = !own && context->captured_streams().load(std::memory_order_relaxed) != 0;
  if (captured && use == StreamUse::kWork) [[unlikely]]
    return Refuse(Capture::BreakBlocking(*context));
  return stream;
}

}  // namespace tutti::client::entry
