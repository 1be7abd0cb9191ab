#include "wire/validate.h"

#include <fmt/format.h>

#include <bit>
#include <optional>

#include "base/checked.h"

namespace tutti::wire {
namespace {

constexpr uint32_t kMaxGridX = 0x7fff'ffff;
constexpr uint32_t kMaxGridYz = 65535;
constexpr uint32_t kMaxBlock[3] = {1024, 1024, 64};
constexpr uint32_t kMaxBlockThreads = 1024;
constexpr uint32_t kMaxClusterBlocks = 16;
constexpr uint64_t kPageBytes = 4096;
constexpr uint32_t kMaxSharedBytes =
    1u << 20;  // no device has more; what a block may really use is the device's to say

bool IsKnown(RecordKind kind) {
  switch (kind) {
    case RecordKind::kLaunch:
    case RecordKind::kCopy:
    case RecordKind::kFill:
    case RecordKind::kEventRecord:
    case RecordKind::kWait:
    case RecordKind::kHostCall:
    case RecordKind::kMarker:
    case RecordKind::kStreamFree:
    case RecordKind::kConditionSet:
    case RecordKind::kConditional:
    case RecordKind::kBody:
    case RecordKind::kConditionalEnd:
    case RecordKind::kGraphLaunch:
    case RecordKind::kEnvironmentEnd:
    case RecordKind::kGraphDrop:
    case RecordKind::kGraphUpload:
    case RecordKind::kTextureDestroy:
    case RecordKind::kTextureCreate:
    case RecordKind::kArrayCreate:
    case RecordKind::kStreamCreate:
    case RecordKind::kStreamDestroy:
    case RecordKind::kModuleUnload:
    case RecordKind::kFree:
    case RecordKind::kHostCallDone:
    case RecordKind::kContextLimit:
    case RecordKind::kHeapLimit:
    case RecordKind::kKernelLimit:
    case RecordKind::kConditionDestroy:
    case RecordKind::kConditionCreate:
    case RecordKind::kAllocate:
    case RecordKind::kPrepare:
    case RecordKind::kReset:
    case RecordKind::kWord:
    case RecordKind::kMap:
    case RecordKind::kExport:
    case RecordKind::kImport:
    case RecordKind::kImportDrop:
    case RecordKind::kHostMemory:
    case RecordKind::kMemoryUse:
    case RecordKind::kOccupancy: return true;
    case RecordKind::kNone: return false;
  }
  return false;
}

bool NamesStream(RecordKind kind) {
  return static_cast<uint8_t>(kind) <= static_cast<uint8_t>(RecordKind::kStreamDestroy) ||
         kind == RecordKind::kHostCallDone;
}

std::unexpected<Error> BadStream(uint32_t stream) { return Fail(fmt::format("stream number {}", stream)); }

bool InLimits(const uint32_t (&extent)[3], const uint32_t (&limit)[3]) {
  for (int i = 0; i < 3; ++i) {
    if (extent[i] == 0 || extent[i] > limit[i]) return false;
  }
  return true;
}

// address + (planes - 1) * plane + (rows - 1) * pitch + row_bytes, unless it overflows. No count is zero.
std::optional<uint64_t> EndOf(uint64_t address, uint64_t planes, uint64_t plane, uint64_t rows, uint64_t pitch,
                              uint64_t row_bytes) {
  const auto plane_bytes = CheckedMul(planes - 1, plane);
  const auto rows_bytes = CheckedMul(rows - 1, pitch);
  if (!plane_bytes || !rows_bytes) return std::nullopt;
  auto end = CheckedAdd(address, *plane_bytes);
  if (end) end = CheckedAdd(*end, *rows_bytes);
  if (end) end = CheckedAdd(*end, row_bytes);
  return end;
}

Status ValidateCluster(const LaunchBody& body, uint32_t (&cluster)[3]) {
  if (body.cluster_packed == 0) return {};
  uint32_t blocks = 1;
  for (int i = 0; i < 3; ++i) {
    cluster[i] = (body.cluster_packed >> (8 * i)) & 0xff;
    blocks *= cluster[i];
    if (cluster[i] == 0 || body.grid[i] % cluster[i] != 0) return Fail("cluster does not divide the grid");
  }
  if (blocks > kMaxClusterBlocks || body.cluster_packed >> 24 != 0) return Fail("cluster is too large");
  return {};
}

}  // namespace

Status ValidateHead(const Untrusted<RawRecord>& untrusted) {
  const RawRecord& record = untrusted.Unchecked();
  if (!IsKnown(record.kind)) return Fail(fmt::format("record kind {}", static_cast<unsigned>(record.kind)));
  if (NamesStream(record.kind) && (record.stream == 0 || record.stream >= kMaxStreams)) return BadStream(record.stream);
  if (IsAnswered(record.kind) && record.reply >= kReplySlots) return Fail(fmt::format("reply slot {}", record.reply));
  return {};
}

Result<Launch> ValidateLaunch(const Untrusted<RawRecord>& untrusted) {
  const RawRecord& record = untrusted.Unchecked();
  Launch launch{.body = record.body<LaunchBody>()};
  const LaunchBody& body = launch.body;
  const auto& b = body.block;
  if (!InLimits(body.grid, {kMaxGridX, kMaxGridYz, kMaxGridYz})) {
    return Fail(fmt::format("grid of {} x {} x {}", body.grid[0], body.grid[1], body.grid[2]));
  }
  if (!InLimits(b, kMaxBlock) || b[0] * b[1] * b[2] > kMaxBlockThreads) {
    return Fail(fmt::format("block of {} x {} x {}", b[0], b[1], b[2]));
  }
  if (body.dynamic_shared_bytes > kMaxSharedBytes)
    return Fail(fmt::format("{} bytes of shared memory", body.dynamic_shared_bytes));
  if ((body.flags & ~(kLaunchCooperative | kLaunchArgumentsInWindow)) != 0)
    return Fail(fmt::format("launch flags {:#x}", body.flags));
  if (body.argument_bytes > kMaxArgumentBytes) return Fail(fmt::format("{} bytes of arguments", body.argument_bytes));
  TUTTI_TRY(ValidateCluster(body, launch.cluster));

  const auto inlined = record.bytes.subspan(kLaunchFixedBytes);
  if ((body.flags & kLaunchArgumentsInWindow) != 0) {
    std::memcpy(&launch.arguments_address, inlined.data(), sizeof launch.arguments_address);
    if (launch.arguments_address == 0 || !CheckedAdd<uint64_t>(launch.arguments_address, body.argument_bytes)) {
      return Fail(fmt::format("arguments at {:#x}", launch.arguments_address));
    }
    return launch;
  }
  if (body.argument_bytes > inlined.size()) {
    return Fail(fmt::format("{} bytes of arguments in a record with room for {}", body.argument_bytes, inlined.size()));
  }
  launch.arguments = inlined.first(body.argument_bytes);
  return launch;
}

Result<CopyBody> ValidateCopy(const Untrusted<RawRecord>& untrusted) {
  const auto copy = untrusted.Unchecked().body<CopyBody>();
  if (copy.row_bytes == 0 || copy.rows == 0 || copy.planes == 0) return Fail("copy of nothing");
  if (!EndOf(copy.destination, copy.planes, copy.destination_plane, copy.rows, copy.destination_pitch,
             copy.row_bytes) ||
      !EndOf(copy.source, copy.planes, copy.source_plane, copy.rows, copy.source_pitch, copy.row_bytes)) {
    return Fail("copy beyond the end of memory");
  }
  // The volume bounds the time of the operation: with overlapping rows it could exceed the size of memory.
  const auto plane_bytes = CheckedMul(copy.row_bytes, copy.rows);
  if (!plane_bytes || !CheckedMul(*plane_bytes, copy.planes)) return Fail("copy of more bytes than there are");
  return copy;
}

Result<FillBody> ValidateFill(const Untrusted<RawRecord>& untrusted) {
  const auto fill = untrusted.Unchecked().body<FillBody>();
  if (!std::has_single_bit(fill.element_bytes) || fill.element_bytes > 8)
    return Fail(fmt::format("fill with elements of {} bytes", fill.element_bytes));
  if (fill.width == 0 || fill.height == 0) return Fail("fill of nothing");
  const auto row_bytes = CheckedMul<uint64_t>(fill.width, fill.element_bytes);
  if (!row_bytes || !EndOf(fill.destination, 1, 0, fill.height, fill.pitch, *row_bytes) ||
      !CheckedMul(*row_bytes, fill.height)) {
    return Fail("fill beyond the end of memory");
  }
  return fill;
}

Result<EventRecordBody> ValidateEventRecord(const Untrusted<RawRecord>& untrusted) {
  const auto body = untrusted.Unchecked().body<EventRecordBody>();
  if (body.event >= kMaxEvents) return Fail(fmt::format("event slot {}", body.event));
  return body;
}

Result<WaitBody> ValidateWait(const Untrusted<RawRecord>& untrusted) {
  const RawRecord& record = untrusted.Unchecked();
  const auto body = record.body<WaitBody>();
  if (body.stream == 0 || body.stream >= kMaxStreams) return BadStream(body.stream);
  // A stream can only wait for earlier tickets, so no set of records forms a cycle of waits.
  if (body.ticket >= record.ticket)
    return Fail(fmt::format("record {} waits for record {}", record.ticket, body.ticket));
  return body;
}

ConditionSetBody ValidateConditionSet(const Untrusted<RawRecord>& untrusted) {
  return untrusted.Unchecked().body<ConditionSetBody>();
}

Result<ConditionalBody> ValidateConditional(const Untrusted<RawRecord>& untrusted) {
  const auto body = untrusted.Unchecked().body<ConditionalBody>();
  if (static_cast<uint32_t>(body.kind) > static_cast<uint32_t>(ConditionalKind::kSwitch))
    return Fail(fmt::format("conditional node of kind {}", static_cast<uint32_t>(body.kind)));
  return body;
}

BodyBody ValidateBody(const Untrusted<RawRecord>& untrusted) { return untrusted.Unchecked().body<BodyBody>(); }

Result<ConditionalEndBody> ValidateConditionalEnd(const Untrusted<RawRecord>& untrusted) {
  const auto body = untrusted.Unchecked().body<ConditionalEndBody>();
  if (body.no_more > 1) return Fail(fmt::format("end of a conditional node with {}", body.no_more));
  return body;
}

HostCallBody ValidateHostCall(const Untrusted<RawRecord>& untrusted) {
  return untrusted.Unchecked().body<HostCallBody>();
}

Result<StreamCreateBody> ValidateStreamCreate(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<StreamCreateBody>();
  if (body.device >= device_count) return Fail(fmt::format("device {}", body.device));
  if (body.priority < -5 || body.priority > 0) return Fail(fmt::format("stream priority {}", body.priority));
  if ((body.flags & ~(kStreamLegacy | kStreamNonBlocking)) != 0)
    return Fail(fmt::format("stream flags {:#x}", body.flags));
  return body;
}

Result<ContextLimitBody> ValidateContextLimit(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<ContextLimitBody>();
  if (body.device >= device_count) return Fail(fmt::format("limit of a context on device {}", body.device));
  if (body.part_ppm > kWholeDevice)
    return Fail(fmt::format("limit of a context to {} millionths of the device", body.part_ppm));
  return body;
}

Result<HeapLimitBody> ValidateHeapLimit(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<HeapLimitBody>();
  if (body.device >= device_count) return Fail(fmt::format("limit of a heap on device {}", body.device));
  return body;
}

Result<KernelLimitBody> ValidateKernelLimit(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<KernelLimitBody>();
  if (body.device >= device_count) return Fail(fmt::format("limit of kernels on device {}", body.device));
  if (body.limit < 0 || body.limit >= kKernelLimits) return Fail(fmt::format("limit {} of kernels", body.limit));
  return body;
}

ModuleUnloadBody ValidateModuleUnload(const Untrusted<RawRecord>& untrusted) {
  return untrusted.Unchecked().body<ModuleUnloadBody>();
}

FreeBody ValidateFree(const Untrusted<RawRecord>& untrusted) { return untrusted.Unchecked().body<FreeBody>(); }

Result<AllocateBody> ValidateAllocate(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<AllocateBody>();
  if (body.device >= device_count) return Fail(fmt::format("device {}", body.device));
  if (static_cast<uint32_t>(body.kind) > static_cast<uint32_t>(MemoryKind::kAddresses)) {
    return Fail(fmt::format("memory kind {}", static_cast<uint32_t>(body.kind)));
  }
  if (!std::has_single_bit(body.alignment)) return Fail(fmt::format("alignment {}", body.alignment));
  return body;
}

Result<PrepareBody> ValidatePrepare(const Untrusted<RawRecord>& untrusted) {
  const auto body = untrusted.Unchecked().body<PrepareBody>();
  const auto& b = body.block;
  const bool any_shape = b[0] == 0 && b[1] == 0 && b[2] == 0;
  if (!any_shape && (!InLimits(b, kMaxBlock) || b[0] * b[1] * b[2] > kMaxBlockThreads)) {
    return Fail(fmt::format("block of {} x {} x {}", b[0], b[1], b[2]));
  }
  return body;
}

Result<OccupancyBody> ValidateOccupancy(const Untrusted<RawRecord>& untrusted) {
  const auto body = untrusted.Unchecked().body<OccupancyBody>();
  if (body.block_threads == 0 || body.block_threads > kMaxBlockThreads || body.dynamic_shared_bytes > kMaxSharedBytes)
    return Fail(fmt::format("blocks of {} threads and {} bytes of shared memory", body.block_threads,
                            body.dynamic_shared_bytes));
  return body;
}

Result<ResetBody> ValidateReset(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<ResetBody>();
  if (body.device >= device_count) return Fail(fmt::format("device {}", body.device));
  return body;
}

Result<ConditionCreateBody> ValidateConditionCreate(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<ConditionCreateBody>();
  if (body.device >= device_count) return Fail(fmt::format("a condition on device {}", body.device));
  return body;
}

GraphLaunchBody ValidateGraphLaunch(const Untrusted<RawRecord>& untrusted) {
  return untrusted.Unchecked().body<GraphLaunchBody>();
}

GraphDropBody ValidateGraphDrop(const Untrusted<RawRecord>& untrusted) {
  return untrusted.Unchecked().body<GraphDropBody>();
}

EnvironmentEndBody ValidateEnvironmentEnd(const Untrusted<RawRecord>& untrusted) {
  return untrusted.Unchecked().body<EnvironmentEndBody>();
}

Result<GraphUploadBody> ValidateGraphUpload(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<GraphUploadBody>();
  if (body.device >= device_count) return Fail(fmt::format("a graph on device {}", body.device));
  if ((body.flags & ~kGraphIsNode) != 0) return Fail(fmt::format("flags {:#x} of a graph", body.flags));
  if (body.bytes == 0 || body.bytes > kMostGraphBytes) return Fail(fmt::format("a graph in {} bytes", body.bytes));
  if (!CheckedAdd<uint64_t>(body.address, body.bytes)) return Fail("a graph beyond the end of memory");
  return body;
}

Result<ArrayCreateBody> ValidateArrayCreate(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<ArrayCreateBody>();
  if (body.device >= device_count) return Fail(fmt::format("an array on device {}", body.device));
  return body;
}

Result<TextureCreateBody> ValidateTextureCreate(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<TextureCreateBody>();
  if (body.device >= device_count) return Fail(fmt::format("a texture on device {}", body.device));
  if (body.kind > kLastTextureKind) return Fail(fmt::format("a texture of kind {}", static_cast<uint32_t>(body.kind)));
  return body;
}

Result<TextureDestroyBody> ValidateTextureDestroy(const Untrusted<RawRecord>& untrusted) {
  const auto body = untrusted.Unchecked().body<TextureDestroyBody>();
  if (body.is_surface > 1) return Fail(fmt::format("the end of a texture of kind {}", body.is_surface));
  return body;
}

Result<MemoryUseBody> ValidateMemoryUse(const Untrusted<RawRecord>& untrusted, uint32_t device_count) {
  const auto body = untrusted.Unchecked().body<MemoryUseBody>();
  if (body.device >= device_count) return Fail(fmt::format("the memory of device {}", body.device));
  return body;
}

Result<WordBody> ValidateWord(const Untrusted<RawRecord>& untrusted) {
  const auto body = untrusted.Unchecked().body<WordBody>();
  if ((body.bytes != 4 && body.bytes != 8) || body.address % body.bytes != 0)
    return Fail(fmt::format("a word of {} bytes at {:#x}", body.bytes, body.address));
  return body;
}

Result<MapBody> ValidateMap(const Untrusted<RawRecord>& untrusted) {
  const auto body = untrusted.Unchecked().body<MapBody>();
  if (body.bytes == 0 || body.address % kPageBytes != 0 || body.bytes % kPageBytes != 0 ||
      !CheckedAdd<uint64_t>(body.address, body.bytes)) {
    return Fail(fmt::format("a mapping of {} bytes at {:#x}", body.bytes, body.address));
  }
  const bool known =
      body.access == MapAccess::kNone || body.access == MapAccess::kRead || body.access == MapAccess::kReadWrite;
  if (!known || body.source > MapSource::kImported) {
    return Fail(fmt::format("a mapping of kind {} with access {}", static_cast<uint32_t>(body.source),
                            static_cast<uint32_t>(body.access)));
  }
  return body;
}

Result<ExportBody> ValidateExport(const Untrusted<RawRecord>& untrusted) {
  const auto body = untrusted.Unchecked().body<ExportBody>();
  if (body.end_with_largest > 1) return Fail(fmt::format("an export that ends with {}", body.end_with_largest));
  if (body.source != MapSource::kOwn && body.source != MapSource::kImported)
    return Fail(fmt::format("an export of source {}", static_cast<uint32_t>(body.source)));
  return body;
}

HostMemoryBody ValidateHostMemory(const Untrusted<RawRecord>& untrusted) {
  return untrusted.Unchecked().body<HostMemoryBody>();
}

ImportBody ValidateImport(const Untrusted<RawRecord>& untrusted) { return untrusted.Unchecked().body<ImportBody>(); }

ImportDropBody ValidateImportDrop(const Untrusted<RawRecord>& untrusted) {
  return untrusted.Unchecked().body<ImportDropBody>();
}

ConditionDestroyBody ValidateConditionDestroy(const Untrusted<RawRecord>& untrusted) {
  return untrusted.Unchecked().body<ConditionDestroyBody>();
}

}  // namespace tutti::wire
