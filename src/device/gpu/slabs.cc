#include "device/gpu/slabs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cuda/result.h"

namespace tutti::device::gpu {
namespace {

using executor::RequestKind;

constexpr uint64_t kGranularity = 256;
constexpr uint64_t kMostSmall = kSlabBytes / 2;
constexpr uint32_t kMostForSmall = 16;  // slabs of a client with one small allocation each: 32 MiB

bool IsSmall(uint64_t bytes) { return bytes <= kMostSmall; }
uint32_t FlagsOf(bool shareable) { return shareable ? uint32_t{executor::kShareable} : 0; }

}  // namespace

Result<std::map<uint64_t, Slabs::Slab>::iterator> Slabs::Map(uint64_t bytes, uint64_t alignment, bool shareable) {
  const uint64_t size = AlignUp(bytes, kSlabBytes);
  const auto address = addresses_.Take(size, std::max(alignment, kSlabBytes));
  if (!address)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("no room for {} bytes in the client's window", bytes));
  auto mapped =
      executor_->Ask({.kind = RequestKind::kMapSlab, .address = *address, .bytes = size, .flags = FlagsOf(shareable)});
  if (!mapped) {
    addresses_.Give(*address, size);
    return std::unexpected(mapped.error());
  }
  Slab slab;
  slab.bytes = size;
  slab.clean = *address;
  return slabs_.emplace(*address, std::move(slab)).first;
}

void Slabs::Unmap(std::map<uint64_t, Slab>::iterator slab) {
  const auto [address, bytes] = std::pair(slab->first, slab->second.bytes);
  slabs_.erase(slab);
  executor_->Unmap(address, bytes);
  addresses_.Give(address, bytes);
}

Status Slabs::AttachTo(ExecutorLink& executor) {
  for (auto& [address, slab] : slabs_) {
    const auto shared = slab.shared.lock();
    const RequestKind kind = shared != nullptr ? RequestKind::kMapMemory : RequestKind::kMapSlab;
    const uint32_t flags = shared != nullptr ? 0 : FlagsOf(!slab.cut);
    TUTTI_TRY(executor.Ask({.kind = kind, .address = address, .bytes = slab.bytes, .flags = flags},
                           shared != nullptr ? shared->descriptor() : -1));
  }
  return {};
}

std::optional<uint64_t> Slabs::BytesOf(uint64_t address) const {
  const auto slab = slabs_.find(address);
  return slab == slabs_.end() || slab->second.cut ? std::nullopt : std::optional(slab->second.bytes);
}

Result<os::StrangersFd> Slabs::Export(uint64_t address) {
  TUTTI_ASSIGN(CurrentExecutor::Reply reply, executor_->Ask({.kind = RequestKind::kExportSlab, .address = address}));
  if (!reply.file) return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "the driver exports no descriptor of the memory");
  return std::move(reply.file);
}

Status Slabs::Clear(uint64_t address, uint64_t bytes) {
  TUTTI_TRY(executor_->Ask({.kind = RequestKind::kClear, .address = address, .bytes = bytes}));
  return {};
}

Result<uint64_t> Slabs::Take(uint64_t bytes, uint64_t alignment) {
  if (!IsSmall(bytes) || alignment > kSlabBytes) {
    TUTTI_ASSIGN(const auto slab, Map(bytes, alignment, true));
    return slab->first;
  }
  if (for_small_ < kMostForSmall) {
    if (const auto slab = Map(bytes, alignment, true)) {
      ++for_small_;
      (*slab)->second.for_small = true;
      return (*slab)->first;
    }
  }
  const auto cut_from = [&](std::map<uint64_t, Slab>::iterator at) -> Result<uint64_t> {
    Slab& slab = at->second;
    const auto address = slab.cut->Take(bytes, alignment);
    if (!address) return 0;
    const uint64_t end = *address + slab.cut->RoundUp(bytes);
    if (*address < slab.clean) {
      if (const Status cleared = Clear(*address, std::min(end, slab.clean) - *address); !cleared) {
        slab.cut->Give(*address, bytes);
        return std::unexpected(cleared.error());
      }
    }
    slab.clean = std::max(slab.clean, end);
    ++slab.allocations;
    return *address;
  };
  for (auto at = slabs_.begin(); at != slabs_.end(); ++at) {
    if (!at->second.cut) continue;
    TUTTI_ASSIGN(const uint64_t address, cut_from(at));
    if (address != 0) return address;
  }
  TUTTI_ASSIGN(const auto fresh, Map(kSlabBytes, 0, false));
  fresh->second.cut.emplace(fresh->first, kSlabBytes, kGranularity);
  return cut_from(fresh);
}

void Slabs::Give(uint64_t address, uint64_t bytes) {
  auto at = slabs_.upper_bound(address);
  if (at == slabs_.begin()) return;
  --at;
  if (!at->second.cut) {
    if (at->second.for_small) --for_small_;
    return Unmap(at);
  }
  at->second.cut->Give(address, bytes);
  if (--at->second.allocations == 0) Unmap(at);
}

}  // namespace tutti::device::gpu
