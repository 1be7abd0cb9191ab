#include "client/context/context.h"

#include <algorithm>

#include "client/base/complaint.h"
#include "client/base/environment.h"
#include "client/context/stream.h"
#include "client/session/attachment.h"
#include "client/session/mps_environment.h"
#include "client/session/printing.h"
#include "client/session/renewal.h"
#include "cuda/compute_mode.h"
#include "cuda/device_attribute.h"
#include "cuda/limits.h"
#include "wire/visible_devices.h"

namespace tutti::client {
namespace {

std::atomic<uint64_t> next_context_id{1};

}  // namespace

constinit Pool<Context, 4096> Context::pool_;

Context::Context(Device& device, bool primary, const Options& options)
    : device_(device), primary_(primary), options_(options), id_(0), flags_(options.flags), attached_(primary ? 0 : 1) {
  std::ranges::copy(cuda::kDefaultLimits, limits_.begin());
}

Context* Context::MakePrimary(Device& device) { return pool_.Create(device, true, Options{}); }

Answer<Context*> Context::Create(Device& device, const Options& options) {
  Context* context = pool_.Create(device, false, options);
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

int Context::Attach() {
  std::lock_guard lock(lifetime_mutex_);
  if (primary_) CU_TRY(Retain());
  ++attached_;
  return cuda::CUDA_SUCCESS;
}

int Context::Detach(Context* context) {
  {
    std::lock_guard lock(context->lifetime_mutex_);
    if (context->attached_ == 0) return cuda::CUDA_ERROR_INVALID_CONTEXT;
    --context->attached_;
    if (context->primary_) return context->Release();
    if (context->attached_ != 0) return cuda::CUDA_SUCCESS;
  }
  return Destroy(context);
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
  if (--holders_ == 0 && active()) End();
  return cuda::CUDA_SUCCESS;
}

int Context::Reset() {
  std::lock_guard lock(lifetime_mutex_);
  if (active()) End();
  return holders_ != 0 ? Activate() : cuda::CUDA_SUCCESS;
}

int Context::Check() const {
  if (!active()) return cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return device_.Check();
}

// NVIDIA's compute modes. Exclusive means: to programs of the control daemon, whose server is the one process that uses
// the device.
int Context::CheckComputeMode() const {
  const int mode = device_.Attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
  if (mode == cuda::CU_COMPUTEMODE_PROHIBITED) {
    return Complain(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
                    "device {} is in compute mode PROHIBITED; root ends that with: tutti device mode {} DEFAULT",
                    device_.ordinal(), wire::UuidText(device_.info().uuid));
  }
  if (mode == cuda::CU_COMPUTEMODE_EXCLUSIVE_PROCESS && Attachment::Get().header().shared_server == 0) {
    const std::string directory = Environment("CUDA_MPS_PIPE_DIRECTORY");
    return Complain(
        cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
        "device {} is in compute mode EXCLUSIVE_PROCESS and no control daemon answers in {}: start tutti-control -d "
        "or set CUDA_MPS_PIPE_DIRECTORY to the directory of the one that runs",
        device_.ordinal(), directory.empty() ? "/tmp/nvidia-mps" : directory);
  }
  return cuda::CUDA_SUCCESS;
}

int Context::Activate() {
  CU_TRY(Renewal::Get().Begin());
  const int status = Start();
  if (status != 0) Renewal::Get().Ended();
  return status;
}

int Context::Start() {
  CU_TRY(CheckComputeMode());
  if (device_.given_sms() == 0) {
    return Complain(
        cuda::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
        "device {} is partitioned and this process has no part of it: set CUDA_MPS_SM_PARTITION to one that "
        "`lspart` shows",
        device_.ordinal());
  }
  id_.store(next_context_id.fetch_add(1, std::memory_order_relaxed), std::memory_order_release);
  SubmitLimit();
  Stream* legacy = Stream::Create(*this, {.legacy = true});
  if (legacy == nullptr) return cuda::CUDA_ERROR_OUT_OF_MEMORY;
  legacy_.store(legacy, std::memory_order_release);
  active_.store(true, std::memory_order_release);
  return cuda::CUDA_SUCCESS;
}

// A count of SMs (execution affinity, green contexts) applies as it is. A percentage is of the device, not of the
// process's share; the server applies the smaller of the two, never their product. The reported number of SMs is
// rounded down, to at least one, while the server enforces the exact part.
void Context::SubmitLimit() {
  const uint32_t sms = device_.sm_count();
  uint64_t part_ppm = wire::kWholeDevice;
  uint32_t own = ~0u;
  if (options_.sms != 0) {
    own = std::min(options_.sms, sms);
    part_ppm = (uint64_t{own} * wire::kWholeDevice + sms - 1) / sms;
  } else if (PercentagePerContext()) {
    const double percentage = ContextPercentage();
    part_ppm = std::max<uint64_t>(1, static_cast<uint64_t>(percentage * 1e-2 * wire::kWholeDevice + 0.5));
    own = std::max(1u, static_cast<uint32_t>(part_ppm * sms / wire::kWholeDevice));
  }
  own_sms_.store(own, std::memory_order_relaxed);
  if (part_ppm >= wire::kWholeDevice) return;
  Attachment::Get().ring().Submit(wire::RecordKind::kContextLimit, 0,
                                  wire::ContextLimitBody{.device = device_.index(),
                                                         .context = static_cast<uint32_t>(id()),
                                                         .part_ppm = static_cast<uint32_t>(part_ppm)});
}

uint32_t Context::sm_count() const {
  return std::max(1u, std::min(device_.given_sms(), own_sms_.load(std::memory_order_relaxed)));
}

// Waits for running work, so that nothing a kernel uses is freed under it. If the device has faulted, clears its error,
// so that the next context starts clean.
void Context::End() {
  const int error = Synchronize();
  local_storage_.Clear(handle());
  active_.store(false, std::memory_order_release);
  std::vector<Module*> modules;
  {
    std::lock_guard lock(mutex_);
    modules.swap(modules_);
  }
  for (Module* module : modules) dependants_.end_module(module);
  for (Stream* stream : Streams()) Stream::Destroy(stream);
  legacy_.store(nullptr, std::memory_order_release);
  dependants_.free_memory(*this);
  if (error != 0)
    Attachment::Get().replies().Call(wire::RecordKind::kReset, wire::ResetBody{.device = device_.index()});
  Renewal::Get().Ended();
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
  if (limit < 0 || limit >= cuda::CU_LIMIT_SHMEM_SIZE) return false;  // the others are read-only
  limits_[limit].store(value, std::memory_order_relaxed);
  if (limit == cuda::CU_LIMIT_MALLOC_HEAP_SIZE) {
    Attachment::Get().ring().Submit(wire::RecordKind::kHeapLimit, 0,
                                    wire::HeapLimitBody{.bytes = value, .device = device_.index()});
  }
  Attachment::Get().ring().Submit(wire::RecordKind::kKernelLimit, 0,
                                  wire::KernelLimitBody{.value = value, .device = device_.index(), .limit = limit});
  return true;
}

}  // namespace tutti::client
