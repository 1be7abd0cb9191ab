#include "executor/host_copies.h"

#include <cstring>
#include <memory>

#include "base/checked.h"

namespace tutti::executor {
namespace {

// On a thread of the driver's, which may call it for nothing else.
void CopyNow(void* what) {
  const std::unique_ptr<const CopyDispatch> copy(static_cast<const CopyDispatch*>(what));
  for (uint64_t plane = 0; plane < copy->planes; ++plane) {
    for (uint64_t row = 0; row < copy->rows; ++row) {
      const uint64_t to = copy->destination + plane * copy->destination_plane + row * copy->destination_pitch;
      const uint64_t from = copy->source + plane * copy->source_plane + row * copy->source_pitch;
      std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), copy->row_bytes);
    }
  }
}

}  // namespace

void HostCopies::Open(uint64_t base, uint64_t bytes) {
  bytes_.store(bytes, std::memory_order_relaxed);
  base_.store(base, std::memory_order_release);
}

bool HostCopies::Holds(uint64_t address, uint64_t bytes) const {
  const uint64_t base = base_.load(std::memory_order_acquire);
  return base != 0 && address >= base && InRange(address - base, bytes, bytes_.load(std::memory_order_relaxed));
}

bool HostCopies::Has(const CopyDispatch& copy) const {
  const uint64_t to = ReachOf(copy.row_bytes, copy.rows, copy.destination_pitch, copy.planes, copy.destination_plane);
  const uint64_t from = ReachOf(copy.row_bytes, copy.rows, copy.source_pitch, copy.planes, copy.source_plane);
  return Holds(copy.destination, to) && Holds(copy.source, from);
}

// Where the context is lost the driver never calls it, and the process ends.
Status HostCopies::Copy(cuda::CUstream stream, const CopyDispatch& copy) const {
  auto what = std::make_unique<CopyDispatch>(copy);
  const Status given = vendor_.Check(vendor_.cuLaunchHostFunc(stream, CopyNow, what.get()), "cuLaunchHostFunc");
  if (given) (void)what.release();
  return given;
}

}  // namespace tutti::executor
