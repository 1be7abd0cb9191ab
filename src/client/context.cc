#include "client/context.h"

#include <algorithm>

#include "client/allocation_table.h"
#include "client/module.h"
#include "client/printing.h"
#include "client/session.h"
#include "client/stream.h"

namespace tutti::client {
namespace {

std::atomic<uint64_t> next_context_id{1};

// What a fresh context reports, as the driver documents or shows them.
constexpr size_t kDefaultLimits[cuda::CU_LIMIT_COUNT] = {
    1024,               // stack
    wire::kPrintBytes,  // printf FIFO
    8 << 20,            // device heap
    2,                  // nested synchronisation depth
    2048,               // pending launches from the device
    64,                 // L2 fetch granularity
    0,                  // persisting L2
    0,
    0,
    0,  // shared memory of graphics interoperation, and whether there is any
};

}  // namespace

constinit Pool<Context, 4096> Context::pool_;

Context::Context(Device& device, bool primary, unsigned flags, unsigned api_version)
    : device_(device),
      primary_(primary),
      api_version_(api_version),
      id_(0),
      flags_(flags) {
  for (size_t i = 0; i < limits_.size(); ++i) limits_[i] = kDefaultLimits[i];
}

Context* Context::MakePrimary(Device& device) { return pool_.Create(device, true, 0u, 0u); }

Answer<Context*> Context::Create(Device& device, unsigned flags, unsigned api_version) {
  Context* context = pool_.Create(device, false, flags, api_version);
  if (context == nullptr) return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  std::lock_guard lock(context->lifetime_mutex_);
  if (const int status = context->Activate(); status != 0) {
    if (pool_.Retire(context)) pool_.Delete(context);
    return Refuse(status);
  }
  return context;
}

int Context::Destroy(Context* context) {
  if (context->primary_ || !pool_.Retire(context)) return cuda::CUDA_ERROR_INVALID_CONTEXT;
  {
    std::lock_guard lock(context->lifetime_mutex_);
    context->End();
  }
  pool_.Delete(context);
  return cuda::CUDA_SUCCESS;
}

int Context::Retain() {
  std::lock_guard lock(lifetime_mutex_);
  if (!active()) CU_TRY(Activate());
  ++holders_;
  return cuda::CUDA_SUCCESS;
}

int Context::Release() {
  std::lock_guard lock(lifetime_mutex_);
  if (holders_ == 0) return cuda::CUDA_ERROR_INVALID_CONTEXT;
  if (--holders_ == 0) End();
  return cuda::CUDA_SUCCESS;
}

int Context::Reset() {
  std::lock_guard lock(lifetime_mutex_);
  if (active()) End();
  return holders_ != 0 ? Activate() : cuda::CUDA_SUCCESS;
}

int Context::Check() const {
  if (!active()) return cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (const int error = device_.error(); error != 0) return error;
  return Session::Get().ended();
}

int Context::Activate() {
  id_.store(next_context_id.fetch_add(1, std::memory_order_relaxed), std::memory_order_release);
  Stream* legacy = Stream::Create(*this, {.legacy = true});
  if (legacy == nullptr) return cuda::CUDA_ERROR_OUT_OF_MEMORY;
  legacy_.store(legacy, std::memory_order_release);
  active_.store(true, std::memory_order_release);
  return cuda::CUDA_SUCCESS;
}

// Work that is still running is waited for, so that what a kernel uses is not taken from under it. A context whose
// device has faulted gets the device's error cleared: the next context starts clean.
void Context::End() {
  const int error = Synchronize();
  local_storage_.Clear(handle());
  active_.store(false, std::memory_order_release);
  std::vector<Module*> modules;
  {
    std::lock_guard lock(mutex_);
    modules.swap(modules_);
  }
  for (Module* module : modules) Module::Delete(module);
  for (Stream* stream : Streams()) Stream::Destroy(stream);
  legacy_.store(nullptr, std::memory_order_release);
  AllocationTable::Get().FreeAllOf(*this);
  if (error != 0) Session::Get().replies().Call(wire::RecordKind::kReset, wire::ResetBody{.device = device_.index()});
}

std::vector<Stream*> Context::Streams() {
  std::lock_guard lock(mutex_);
  return streams_;
}

void Context::Add(Stream* stream) {
  std::lock_guard lock(mutex_);
  streams_.push_back(stream);
  if (stream->blocking() && !stream->legacy()) blocking_streams_.fetch_add(1, std::memory_order_release);
}

void Context::Remove(Stream* stream) {
  std::lock_guard lock(mutex_);
  if (std::erase(streams_, stream) != 0 && stream->blocking() && !stream->legacy()) {
    blocking_streams_.fetch_sub(1, std::memory_order_release);
  }
}

bool Context::BlockingStreamsIdle() {
  if (blocking_streams_.load(std::memory_order_acquire) == 0) return true;
  std::lock_guard lock(mutex_);
  return std::ranges::all_of(streams_, [](Stream* s) { return !s->blocking() || s->legacy() || s->Idle(); });
}

int Context::WaitForBlockingStreams() {
  if (blocking_streams_.load(std::memory_order_acquire) == 0) return 0;
  std::vector<StreamMark> marks;
  {
    std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) {
      if (stream->blocking() && !stream->legacy() && !stream->Idle()) marks.push_back(stream->LastMark());
    }
  }
  for (const StreamMark& mark : marks) CU_TRY(mark.Wait());
  return 0;
}

int Context::Synchronize() {
  std::vector<StreamMark> marks;
  {
    std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) {
      if (!stream->Idle()) marks.push_back(stream->LastMark());
    }
  }
  for (const StreamMark& mark : marks) {
    if (const int ended = mark.Wait(); ended != 0) break;
  }
  DrainPrints();
  return Check();
}

void Context::Add(Module* module) {
  std::lock_guard lock(mutex_);
  modules_.push_back(module);
}

void Context::Remove(Module* module) {
  std::lock_guard lock(mutex_);
  std::erase(modules_, module);
}

bool Context::GetLimit(cuda::CUlimit limit, size_t* value) const {
  if (limit < 0 || limit >= cuda::CU_LIMIT_COUNT) return false;
  *value = limits_[limit].load(std::memory_order_relaxed);
  return true;
}

bool Context::SetLimit(cuda::CUlimit limit, size_t value) {
  if (limit < 0 || limit >= cuda::CU_LIMIT_COUNT) return false;
  limits_[limit].store(value, std::memory_order_relaxed);
  return true;
}

}  // namespace tutti::client
