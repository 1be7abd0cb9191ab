#include "executor/fence_memory.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace tutti::executor {

using namespace cuda;

// Windows of one server are all of one size, so that any piece fits.
tutti::Result<FenceMemory::Piece> FenceMemory::Take(uint64_t device_bytes) {
  std::optional<Piece> kept;
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(free_, device_bytes, &Piece::device_bytes);
    if (found != free_.end()) {
      kept = *found;
      free_.erase(found);
    }
  }
  if (!kept) {
    TUTTI_ASSIGN(kept, Allocate(device_bytes));
  }
  std::memset(static_cast<void*>(kept->host), 0, sizeof(Host));
  return *kept;
}

tutti::Result<FenceMemory::Piece> FenceMemory::Allocate(uint64_t device_bytes) const {
  Piece piece{.device_bytes = device_bytes};
  TUTTI_TRY(vendor_.Check(vendor_.cuMemAlloc_v2(&piece.device, device_bytes), "cuMemAlloc"));
  void* host = nullptr;
  Status got =
      vendor_.Check(vendor_.cuMemHostAlloc(&host, sizeof(Host), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                    "cuMemHostAlloc");
  if (got) {
    piece.host = static_cast<Host*>(host);
    got =
        vendor_.Check(vendor_.cuMemHostGetDevicePointer_v2(&piece.host_address, host, 0), "cuMemHostGetDevicePointer");
  }
  if (got) return piece;
  vendor_.cuMemFree_v2(piece.device);
  if (host != nullptr) vendor_.cuMemFreeHost(host);
  return std::unexpected(got.error());
}

void FenceMemory::GiveBack(const Piece& piece) {
  std::lock_guard lock(mutex_);
  free_.push_back(piece);
}

}  // namespace tutti::executor
