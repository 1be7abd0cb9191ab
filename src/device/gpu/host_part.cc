#include "device/gpu/host_part.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "cuda/result.h"
#include "device/gpu/slabs.h"

namespace tutti::device::gpu {
HostPart::HostPart(CurrentExecutor* executor, uint64_t base, os::Mapping mapping, HostShare* host)
    : executor_(executor),
      host_(host),
      base_(base),
      mapping_(std::move(mapping)),
      segments_(base, mapping_.size(), kAllocationAlignment) {}

Result<HostPart> HostPart::Create(CurrentExecutor* executor, uint64_t base, int file, uint64_t bytes, HostShare* host) {
  TUTTI_ASSIGN(os::Mapping mapping, os::Mapping::Shared(file, bytes));
  return HostPart(executor, base, std::move(mapping), host);
}

Result<uint64_t> HostPart::Take(uint64_t bytes, uint64_t alignment) {
  auto address = segments_.Take(bytes, alignment);
  if (address) return *address;
  TUTTI_TRY(AttachFor(bytes, alignment));
  address = segments_.Take(bytes, alignment);
  TUTTI_CHECK(address);
  return *address;
}

Status HostPart::AttachFor(uint64_t bytes, uint64_t alignment) {
  for (const auto size : {HostSegments::Size::kAhead, HostSegments::Size::kLeast}) {
    const auto next = segments_.Next(bytes, alignment, size);
    if (!next)
      return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                  fmt::format("no room for {} bytes in the host part of the client's window", bytes));
    HostHold held(host_, next->bytes);
    if (!held) continue;
    TUTTI_TRY(
        executor_->Ask({.kind = executor::RequestKind::kAttachHost, .address = next->address, .bytes = next->bytes}));
    segments_.Add(*next);
    held_.push_back(std::move(held));
    return {};
  }
  return host_->Refuse(bytes);
}

Status HostPart::AttachTo(ExecutorLink& executor) const {
  const HostSegments::Range all = segments_.all();
  if (all.bytes == 0) return {};
  TUTTI_TRY(executor.Ask({.kind = executor::RequestKind::kAttachHost, .address = all.address, .bytes = all.bytes}));
  return {};
}

void HostPart::Give(uint64_t address, uint64_t bytes) {
  std::memset(Reached(address, bytes), 0, bytes);
  segments_.Give(address, bytes);
}

}  // namespace tutti::device::gpu
