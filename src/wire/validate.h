// Validation of what clients write into the ring. Each function takes one record that the consumer has copied out and
// returns its checked content, or an error that ends the client's session.
//
// Checked here is everything the record alone shows (kinds, indices, sizes and their sums, CUDA's limits). The device
// checks whether a stream, module or kernel exists and whether an address lies in the client's window
// (device/device.h).
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "wire/arrays.h"
#include "wire/record.h"

namespace tutti::wire {

// What all records have in common: a kind that exists, and stream and reply indices in range where the kind uses them.
Status ValidateHead(const Untrusted<RawRecord>& record);

struct Launch {
  LaunchBody body;
  uint32_t cluster[3] = {1, 1, 1};
  // The parameter buffer, in the record; empty if arguments_address is set: then body.argument_bytes bytes lie there.
  std::span<const uint8_t> arguments;
  uint64_t arguments_address = 0;
};

// One function for each kind with a body. The caller has checked the record's kind.
Result<Launch> ValidateLaunch(const Untrusted<RawRecord>& record);
Result<CopyBody> ValidateCopy(const Untrusted<RawRecord>& record);
Result<FillBody> ValidateFill(const Untrusted<RawRecord>& record);
Result<EventRecordBody> ValidateEventRecord(const Untrusted<RawRecord>& record);
Result<WaitBody> ValidateWait(const Untrusted<RawRecord>& record);
ConditionSetBody ValidateConditionSet(const Untrusted<RawRecord>& record);
Result<ConditionalBody> ValidateConditional(const Untrusted<RawRecord>& record);
BodyBody ValidateBody(const Untrusted<RawRecord>& record);  // any number is fine: a body that no value chooses
Result<ConditionalEndBody> ValidateConditionalEnd(const Untrusted<RawRecord>& record);
GraphLaunchBody ValidateGraphLaunch(const Untrusted<RawRecord>& record);  // any number is fine
GraphDropBody ValidateGraphDrop(const Untrusted<RawRecord>& record);  // any number is fine
EnvironmentEndBody ValidateEnvironmentEnd(const Untrusted<RawRecord>& record);  // any number is fine
Result<GraphUploadBody> ValidateGraphUpload(const Untrusted<RawRecord>& record, uint32_t device_count);
HostCallBody ValidateHostCall(const Untrusted<RawRecord>& record);  // and of its answer; any token is fine
Result<StreamCreateBody> ValidateStreamCreate(const Untrusted<RawRecord>& record, uint32_t device_count);
Result<ContextLimitBody> ValidateContextLimit(const Untrusted<RawRecord>& record, uint32_t device_count);
Result<KernelLimitBody> ValidateKernelLimit(const Untrusted<RawRecord>& record,
                                            uint32_t device_count);  // any value is fine
Result<HeapLimitBody> ValidateHeapLimit(const Untrusted<RawRecord>& record, uint32_t device_count);  // any size is fine
ModuleUnloadBody ValidateModuleUnload(const Untrusted<RawRecord>& record);
FreeBody ValidateFree(const Untrusted<RawRecord>& record);
Result<AllocateBody> ValidateAllocate(const Untrusted<RawRecord>& record, uint32_t device_count);
Result<PrepareBody> ValidatePrepare(const Untrusted<RawRecord>& record);
Result<OccupancyBody> ValidateOccupancy(const Untrusted<RawRecord>& record);
Result<ResetBody> ValidateReset(const Untrusted<RawRecord>& record, uint32_t device_count);
Result<WordBody> ValidateWord(const Untrusted<RawRecord>& record);
Result<MapBody> ValidateMap(const Untrusted<RawRecord>& record);
Result<ExportBody> ValidateExport(const Untrusted<RawRecord>& record);
HostMemoryBody ValidateHostMemory(const Untrusted<RawRecord>& record);
ImportBody ValidateImport(const Untrusted<RawRecord>& record);
ImportDropBody ValidateImportDrop(const Untrusted<RawRecord>& record);
// Whether there are such arrays and textures is the device's to say.
Result<ArrayCreateBody> ValidateArrayCreate(const Untrusted<RawRecord>& record, uint32_t device_count);
Result<TextureCreateBody> ValidateTextureCreate(const Untrusted<RawRecord>& record, uint32_t device_count);
Result<TextureDestroyBody> ValidateTextureDestroy(const Untrusted<RawRecord>& record);
Result<MemoryUseBody> ValidateMemoryUse(const Untrusted<RawRecord>& record, uint32_t device_count);
Result<ConditionCreateBody> ValidateConditionCreate(const Untrusted<RawRecord>& record, uint32_t device_count);
ConditionDestroyBody ValidateConditionDestroy(const Untrusted<RawRecord>& record);

// Kinds that are answered in a reply slot.
constexpr bool IsAnswered(RecordKind kind) { return kind >= RecordKind::kFirstAnswered; }

}  // namespace tutti::wire
