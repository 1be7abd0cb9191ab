#include "client/copy/value_condition.h"

#include <atomic>

#include "client/session/attachment.h"
#include "cuda/types.h"

namespace tutti::client {
namespace {

template <typename Word>
bool Compare(Word current, Word value, uint32_t comparison) {
  switch (comparison) {
    case cuda::CU_STREAM_WAIT_VALUE_EQ: return current == value;
    case cuda::CU_STREAM_WAIT_VALUE_AND: return (current & value) != 0;
    case cuda::CU_STREAM_WAIT_VALUE_NOR: return static_cast<Word>(~(current | value)) != 0;
    // Cyclic: at or less than half of all numbers past the value.
    default: return static_cast<Word>(current - value) <= static_cast<Word>(~Word{0}) / 2;
  }
}

template <typename Word>
Word Read(uint64_t address) {
  return std::atomic_ref(*reinterpret_cast<Word*>(address)).load(std::memory_order_acquire);
}

}  // namespace

bool ValueCondition::HoldsFor(uint64_t current) const {
  if (bytes == 8) return Compare<uint64_t>(current, value, comparison);
  return Compare<uint32_t>(static_cast<uint32_t>(current), static_cast<uint32_t>(value), comparison);
}

bool ValueCondition::Holds() const {
  Attachment& attachment = Attachment::Get();
  if (attachment.Reaches(address, bytes))
    return HoldsFor(bytes == 8 ? Read<uint64_t>(address) : Read<uint32_t>(address));
  const wire::WordBody word{.address = address, .add = 0, .bytes = bytes, .reserved = 0};
  const ipc::Reply reply = attachment.replies().Call(wire::RecordKind::kWord, word);
  return reply.status == 0 && HoldsFor(reply.value[0]);
}

}  // namespace tutti::client
