#include "client/graph/condition.h"

#include <map>
#include <mutex>

#include "client/base/complaint.h"
#include "client/context/context.h"

namespace tutti::client {
namespace {

struct All {
  std::mutex mutex;
  std::map<uint64_t, std::weak_ptr<Condition>> by_number;

  static All& Get() {
    static auto* const all = new All;
    return *all;
  }
};

}  // namespace

Condition::Condition(uint64_t number, uint64_t graph, Context& context, std::optional<uint32_t> launch_value)
    : number_(number),
      graph_(graph),
      device_(context.device()),
      context_(&context),
      owner_(&context.owner()),
      launch_value_(launch_value) {}

Answer<Condition::Handle> Condition::Create(uint64_t graph, Context& context, std::optional<uint32_t> launch_value) {
  const wire::ConditionCreateBody body{.device = context.device().index(), .reserved = 0};
  const ipc::Reply reply = Attachment::Get().replies().Call(wire::RecordKind::kConditionCreate, body);
  if (reply.status == cuda::CUDA_ERROR_OUT_OF_MEMORY) {
    return Refuse(Complain(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                           "a process may have {} conditional handles: destroy graphs that have some",
                           wire::kMostConditions));
  }
  if (reply.status != 0) return Refuse(reply.status);
  const Handle made(new Condition(reply.value[0], graph, context, launch_value));
  std::lock_guard lock(All::Get().mutex);
  All::Get().by_number[made->number()] = made;
  return made;
}

Condition::Handle Condition::Find(cuda::CUgraphConditionalHandle number) {
  std::lock_guard lock(All::Get().mutex);
  const auto found = All::Get().by_number.find(number);
  return found != All::Get().by_number.end() ? found->second.lock() : nullptr;
}

// A later server may use the number again.
Condition::~Condition() {
  {
    std::lock_guard lock(All::Get().mutex);
    const auto found = All::Get().by_number.find(number_);
    if (found != All::Get().by_number.end() && found->second.expired()) All::Get().by_number.erase(found);
  }
  if (alive())
    attachment_->ring().Submit(wire::RecordKind::kConditionDestroy, 0,
                               wire::ConditionDestroyBody{.condition = number_});
}

}  // namespace tutti::client
