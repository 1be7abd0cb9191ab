#include "client/copy/copy.h"

#include <cstring>

#include "base/checked.h"
#include "base/store_once.h"
#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/copy/host_registration.h"
#include "client/copy/relay.h"
#include "client/copy/staging.h"
#include "client/memory/allocation_table.h"
#include "client/session/printing.h"

namespace tutti::client {
namespace {

// Up to this size an asynchronous copy that could be a record is done at once if there is nothing to wait for:
// submitting it would take longer.
constexpr uint64_t kInlineBytes = 64 * 1024;
// Staging memory that one copy may take; longer copies wait for the stream.
constexpr uint64_t kStagedBytes = 16u << 20;
// No valid pointer lies below: catches null and small integers passed as pointers.
constexpr uint64_t kLowestAddress = 4096;

int CopyAfterWaiting(Stream& stream, const CopyRequest& request) {
  const bool reached = ReachesBoth(request);
  if (!reached) CU_TRY(Relay(stream, request));
  CU_TRY(stream.Settle());
  DrainPrints();
  CU_TRY(stream.context().Check());
  if (reached) CopyHere(request);
  return cuda::CUDA_SUCCESS;
}

// Reads the source now, packed, so the program may change it as soon as we return.
int CopyThroughScratch(Stream& stream, const CopyRequest& request) {
  auto scratch = Staging::Get().Take(stream.context(), request.shape.bytes());
  if (!scratch) return CopyAfterWaiting(stream, request);
  CopyRequest packed = request;
  packed.destination = {scratch->address, request.shape.row_bytes, request.shape.row_bytes * request.shape.rows};
  CopyHere(packed);
  packed.source = packed.destination;
  packed.destination = request.destination;
  SubmitCopy(stream, packed);
  Staging::Get().GiveBack(*scratch, stream.LastMark());
  return cuda::CUDA_SUCCESS;
}

// Host memory that the program promises to keep: it can be copied later.
bool IsRegistered(const CopySide& side, const CopyShape& shape) {
  return client::IsRegistered(side.address, Extent(side, shape));
}

int CopyAsynchronously(Stream& stream, const CopyRequest& request, CopyMode mode) {
  const bool from_device = Attachment::Get().OnDevice(request.source.address);
  const bool to_device = Attachment::Get().OnDevice(request.destination.address);
  const bool from_registered = !from_device && IsRegistered(request.source, request.shape);
  const bool to_registered = !to_device && IsRegistered(request.destination, request.shape);
  const bool reached = ReachesBoth(request);
  if ((from_device || from_registered) && (to_device || to_registered)) {
    if (request.shape.bytes() <= kInlineBytes && reached && stream.Settled()) {
      CopyHere(request);
      return cuda::CUDA_SUCCESS;
    }
    if (mode == CopyMode::kSourceNow) {
      const bool staged = !to_registered && Reaches(request.source, request.shape);
      if (!staged || request.shape.bytes() > kStagedBytes) return CopyAfterWaiting(stream, request);
      return CopyThroughScratch(stream, request);
    }
    if (from_registered || to_registered) return CopyInStream(stream, request);
    SubmitCopy(stream, request);
    return cuda::CUDA_SUCCESS;
  }
  if (!to_device || request.shape.bytes() > kStagedBytes) return CopyAfterWaiting(stream, request);
  return reached && stream.Settled() ? CopyAfterWaiting(stream, request) : CopyThroughScratch(stream, request);
}

}  // namespace

uint64_t ExtentOfRows(const CopySide& side, const CopyShape& shape) {
  constexpr uint64_t kTooLarge = ~uint64_t{0};
  const auto planes = CheckedMul(side.plane, shape.planes - 1);
  const auto rows = CheckedMul(side.pitch, shape.rows - 1);
  if (!planes || !rows) return kTooLarge;
  const auto before = CheckedAdd(*planes, *rows);
  return before ? CheckedAdd(*before, shape.row_bytes).value_or(kTooLarge) : kTooLarge;
}

wire::CopyBody BodyOf(const CopyRequest& request) {
  return {.destination = request.destination.address,
          .source = request.source.address,
          .row_bytes = request.shape.row_bytes,
          .rows = request.shape.rows,
          .planes = request.shape.planes,
          .destination_pitch = request.destination.pitch,
          .source_pitch = request.source.pitch,
          .destination_plane = request.destination.plane,
          .source_plane = request.source.plane};
}

void SubmitCopy(Stream& stream, const CopyRequest& request) { stream.Submit(wire::RecordKind::kCopy, BodyOf(request)); }

bool Reaches(const CopySide& side, const CopyShape& shape) {
  return Attachment::Get().Reaches(side.address, Extent(side, shape));
}

bool ReachesBoth(const CopyRequest& request) {
  return Reaches(request.source, request.shape) && Reaches(request.destination, request.shape);
}

void CopyHere(const CopyRequest& request) {
  const CopyShape& shape = request.shape;
  for (uint64_t z = 0; z < shape.planes; ++z) {
    uint64_t to = request.destination.address + z * request.destination.plane;
    uint64_t from = request.source.address + z * request.source.plane;
    for (uint64_t y = 0; y < shape.rows; ++y) {
      auto* const destination = reinterpret_cast<void*>(to);
      const auto* const source = reinterpret_cast<const void*>(from);
      if (!StoreOnce(destination, source, shape.row_bytes)) std::memmove(destination, source, shape.row_bytes);
      to += request.destination.pitch;
      from += request.source.pitch;
    }
  }
}

int CheckSide(const CopySide& side, const CopyShape& shape, SideKind kind) {
  if (shape.empty()) return cuda::CUDA_SUCCESS;
  const uint64_t extent = Extent(side, shape);
  if (side.address < kLowestAddress || !CheckedAdd(side.address, extent)) {
    return Complain(cuda::CUDA_ERROR_INVALID_VALUE, "copy or memset at {:#x}, {} bytes x {} x {}: no memory lies there",
                    side.address, shape.row_bytes, shape.rows, shape.planes);
  }
  if (!Attachment::Get().OnDevice(side.address)) {
    if (kind != SideKind::kDevice) return cuda::CUDA_SUCCESS;
    return Complain(cuda::CUDA_ERROR_INVALID_VALUE, "{:#x} is passed as device memory, but no device memory lies there",
                    side.address);
  }
  if (AllocationTable::Get().Covers(side.address, extent)) return cuda::CUDA_SUCCESS;
  const auto found = AllocationTable::Get().Find(side.address);
  if (!found)
    return Complain(cuda::CUDA_ERROR_INVALID_VALUE, "{:#x} is in no allocation, or in one that was freed",
                    side.address);
  return Complain(cuda::CUDA_ERROR_INVALID_VALUE, "{} bytes at {:#x} leave the allocation of {} bytes at {:#x}", extent,
                  side.address, found->bytes, found->address);
}

int Copy(Stream& stream, const CopyRequest& request, CopyMode mode, SideKind destination, SideKind source) {
  CU_TRY(CheckSide(request.destination, request.shape, destination));
  CU_TRY(CheckSide(request.source, request.shape, source));
  if (mode == CopyMode::kSynchronous || request.shape.empty()) return CopyAfterWaiting(stream, request);
  return CopyAsynchronously(stream, request, mode);
}

}  // namespace tutti::client
