// Conditional nodes of graphs: their conditions, and the records that enclose their bodies (stream/conditional_walk.h).
#include <fmt/format.h>

#include <memory>

#include "cuda/result.h"
#include "device/cpu/cpu_space.h"

namespace tutti::device::cpu {

Result<uint64_t> CpuSpace::CreateCondition(uint32_t device) {
  if (device >= parts_.size())
    return tutti::Fail(fmt::format("a condition on device {}, which does not exist", device));
  const auto condition = conditions_.Create(device);
  if (condition) return *condition;
  return tutti::Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                     fmt::format("the client has {} conditions already", wire::kMostConditions));
}

Status CpuSpace::DestroyCondition(uint64_t condition) {
  if (!conditions_.Retire(condition))
    return tutti::Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("there is no condition {:#x}", condition));
  std::unique_lock lock(mutex_);
  engine_.Defer({.address = 0, .kept = std::shared_ptr<const void>(&conditions_, [this, condition](const void*) {
                                 conditions_.Erase(condition);
                               })});
  UnlockAndRunDeferred(&lock);
  return {};
}

Result<Operation*> CpuSpace::NewConditionalOperation(Operation::Kind kind, uint32_t number, uint64_t ticket,
                                                     Stream** stream) {
  TUTTI_ASSIGN(*stream, FindStream(number));
  TUTTI_TRY(StreamEngine::Admit(*stream, kind));
  return engine_.NewOperation(kind, ticket);
}

void CpuSpace::CheckCondition(uint32_t device, uint64_t condition) {
  if (conditions_.Has(device, condition)) return;
  FailLocked(device, {.status = cuda::CUDA_ERROR_INVALID_HANDLE,
                      .report = fmt::format("a conditional node with the handle {:#x}, which is none of the client's "
                                            "on device {}",
                                            condition, device)});
}

Status CpuSpace::SetCondition(uint32_t number, uint64_t ticket, uint64_t condition, uint32_t value) {
  std::unique_lock lock(mutex_);
  Stream* stream = nullptr;
  TUTTI_ASSIGN(Operation* const operation,
               NewConditionalOperation(Operation::Kind::kConditionSet, number, ticket, &stream));
  CheckCondition(stream->device, condition);
  operation->condition = condition;
  operation->number = value;
  engine_.Enqueue(stream, operation);
  UnlockAndRunDeferred(&lock);
  return {};
}

Status CpuSpace::BeginConditional(uint32_t number, uint64_t ticket, uint64_t condition, wire::ConditionalKind kind) {
  std::unique_lock lock(mutex_);
  Stream* stream = nullptr;
  TUTTI_ASSIGN(Operation* const operation,
               NewConditionalOperation(Operation::Kind::kConditional, number, ticket, &stream));
  CheckCondition(stream->device, condition);
  operation->condition = condition;
  operation->conditional = kind;
  auto* const rest = static_cast<CpuOperation*>(operation);
  PrepareTask(rest, *stream);
  rest->task.transfer = {};
  rest->task.total_blocks = 1;  // which does nothing
  engine_.Enqueue(stream, operation);
  UnlockAndRunDeferred(&lock);
  return {};
}

Status CpuSpace::BeginBody(uint32_t stream, uint64_t ticket, uint32_t body) {
  return SubmitSimple(
      Operation::Kind::kBody, stream, ticket,
      [](Operation* operation, uint64_t number, uint64_t) { operation->number = static_cast<uint32_t>(number); }, body,
      0);
}

Status CpuSpace::EndConditional(uint32_t stream, uint64_t ticket, bool no_more) {
  return SubmitSimple(
      Operation::Kind::kConditionalEnd, stream, ticket,
      [](Operation* operation, uint64_t ends, uint64_t) { operation->no_more = ends != 0; }, no_more ? 1 : 0, 0);
}

}  // namespace tutti::device::cpu
