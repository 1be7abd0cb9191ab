// Conditional nodes of graphs: their conditions, and the records that enclose their bodies. The streams walk here
// (stream_order/conditional_walk.h): a body's kernel is given to the executor when it is decided that the body runs.
#include <fmt/format.h>

#include <memory>

#include "cuda/result.h"
#include "device/gpu/gpu_space.h"

namespace tutti::device::gpu {

Result<uint64_t> GpuSpace::CreateCondition(uint32_t device) {
  if (device != 0) return tutti::Fail(fmt::format("a condition on device {}, which does not exist", device));
  return conditions_.Create(*memory_);
}

Status GpuSpace::DestroyCondition(uint64_t condition) {
  if (!conditions_.Retire(condition))
    return tutti::Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("there is no condition {:#x}", condition));
  std::unique_lock lock(mutex_);
  engine_.Defer({.address = 0, .kept = std::shared_ptr<const void>(&conditions_, [this, condition](const void*) {
                                 conditions_.Erase(condition);
                               })});
  UnlockAndRunDeferred(&lock);
  return {};
}

// The Space's lock is held.
void GpuSpace::CheckCondition(uint64_t condition) {
  if (conditions_.Has(condition)) return;
  FailLocked(
      {.code = cuda::CUDA_ERROR_INVALID_HANDLE,
       .text = fmt::format("a conditional node with the handle {:#x}, which is none of the client's", condition)});
}

Status GpuSpace::SetCondition(uint32_t stream, uint64_t ticket, uint64_t condition, uint32_t value) {
  return SubmitSimple(Operation::Kind::kConditionSet, stream, ticket, [&](Operation* operation) {
    CheckCondition(condition);
    operation->condition = condition;
    operation->number = value;
  });
}

Status GpuSpace::BeginConditional(uint32_t stream, uint64_t ticket, uint64_t condition, wire::ConditionalKind kind) {
  return SubmitSimple(Operation::Kind::kConditional, stream, ticket, [&](Operation* operation) {
    CheckCondition(condition);
    operation->condition = condition;
    operation->conditional = kind;
  });
}

Status GpuSpace::BeginBody(uint32_t stream, uint64_t ticket, uint32_t body) {
  return SubmitSimple(Operation::Kind::kBody, stream, ticket,
                      [body](Operation* operation) { operation->number = body; });
}

Status GpuSpace::EndConditional(uint32_t stream, uint64_t ticket, bool no_more) {
  return SubmitSimple(Operation::Kind::kConditionalEnd, stream, ticket,
                      [no_more](Operation* operation) { operation->no_more = no_more; });
}

}  // namespace tutti::device::gpu
