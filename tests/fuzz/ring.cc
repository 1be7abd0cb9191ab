// Any bytes in a client's ring: the consumer and the validation must refuse or accept them, nothing else.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "ipc/ring_consumer.h"
#include "wire/validate.h"

namespace {

using tutti::wire::RecordKind;

// What a session does with a record, up to the device.
void Validate(const tutti::wire::Untrusted<tutti::wire::RawRecord>& record) {
  using namespace tutti::wire;
  if (!ValidateHead(record)) return;
  switch (record.Unchecked().kind) {
    case RecordKind::kLaunch: (void)ValidateLaunch(record); break;
    case RecordKind::kCopy: (void)ValidateCopy(record); break;
    case RecordKind::kFill: (void)ValidateFill(record); break;
    case RecordKind::kEventRecord: (void)ValidateEventRecord(record); break;
    case RecordKind::kWait: (void)ValidateWait(record); break;
    case RecordKind::kStreamCreate: (void)ValidateStreamCreate(record, 1); break;
    case RecordKind::kAllocate: (void)ValidateAllocate(record, 1); break;
    case RecordKind::kPrepare: (void)ValidatePrepare(record); break;
    case RecordKind::kReset: (void)ValidateReset(record, 1); break;
    case RecordKind::kConditional: (void)ValidateConditional(record); break;
    case RecordKind::kConditionalEnd: (void)ValidateConditionalEnd(record); break;
    case RecordKind::kConditionCreate: (void)ValidateConditionCreate(record, 1); break;
    case RecordKind::kMemoryUse: (void)ValidateMemoryUse(record, 1); break;
    default: break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const channel = static_cast<tutti::wire::Channel*>(
      mmap(nullptr, sizeof(tutti::wire::Channel), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const size_t slots = std::min<size_t>(size / tutti::wire::kSlotBytes, 64);
  std::memcpy(static_cast<void*>(channel->ring), data, slots * tutti::wire::kSlotBytes);
  // Every other record is marked as published, so that more than the first word is tested.
  for (size_t i = 0; i < slots; ++i) {
    if ((data[i * tutti::wire::kSlotBytes] & 1) == 0) channel->ring[i].head.published = i + 1;
  }
  tutti::ipc::RingConsumer consumer(channel);
  for (size_t i = 0; i < slots; ++i) {
    auto record = consumer.Next();
    if (!record || !*record) break;
    Validate(**record);
  }
  std::memset(static_cast<void*>(channel->ring), 0, (slots + 64) * tutti::wire::kSlotBytes);
  return 0;
}
