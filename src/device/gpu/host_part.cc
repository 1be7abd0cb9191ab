#include "device/gpu/host_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cuda/result.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kGranularity = 256;
constexpr uint64_t kStep = 32u << 20;

}  // namespace

HostPart::HostPart(CurrentExecutor* executor, uint64_t base, os::Mapping mapping)
    : executor_(executor),
      base_(base),
      mapping_(std::move(mapping)),
      allocator_(base, mapping_.size(), kGranularity, WindowAllocator::Grows::kDown),
      attached_(end()) {}

Result<HostPart> HostPart::Create(CurrentExecutor* executor, uint64_t base, int file, uint64_t bytes) {
  TUTTI_ASSIGN(os::Mapping mapping, os::Mapping::Shared(file, bytes));
  return HostPart(executor, base, std::move(mapping));
}

Result<uint64_t> HostPart::Take(uint64_t bytes, uint64_t alignment) {
  const auto address = allocator_.Take(bytes, alignment);
  if (!address)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                fmt::format("no room for {} bytes in the host part of the client's window", bytes));
  if (const Status attached = AttachDownTo(*address); !attached) {
    allocator_.Give(*address, bytes);
    return std::unexpected(attached.error());
  }
  return *address;
}

Status HostPart::AttachDownTo(uint64_t address) {
  if (address >= attached_) return {};
  const uint64_t wanted = AlignUp(attached_ - address, kStep);
  const uint64_t bytes = std::min(wanted, attached_ - base_);
  TUTTI_TRY(executor_->Ask({.kind = executor::RequestKind::kAttachHost, .address = attached_ - bytes, .bytes = bytes}));
  attached_ -= bytes;
  return {};
}

Status HostPart::AttachTo(ExecutorLink& executor) const {
  if (attached_ == end()) return {};
  TUTTI_TRY(
      executor.Ask({.kind = executor::RequestKind::kAttachHost, .address = attached_, .bytes = end() - attached_}));
  return {};
}

void HostPart::Give(uint64_t address, uint64_t bytes) {
  std::memset(Reached(address, bytes), 0, bytes);
  allocator_.Give(address, bytes);
}

}  // namespace tutti::device::gpu
