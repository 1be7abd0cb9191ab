#include "device/gpu/slabs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "cuda/result.h"
#include "device/gpu/lent_file.h"

namespace tutti::device::gpu {
namespace {

using executor::RequestKind;

constexpr uint64_t kMostSmall = kSlabBytes / 2;
constexpr uint32_t kMostForSmall = 16;  // slabs of a client with one small allocation each: 32 MiB

bool IsSmall(uint64_t bytes) { return bytes <= kMostSmall; }

// The memory files of one kernel differ by these; files of a driver do not.
std::optional<std::pair<uint64_t, uint64_t>> NumberOf(int file) {
  struct stat info{};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return std::pair<uint64_t, uint64_t>(info.st_dev, info.st_ino);
}

}  // namespace

template <typename Ask>
Status Slabs::Make(uint64_t address, uint64_t bytes, bool shareable, Held* held, Ask ask) {
  held->place = DescriptorPlace(DescriptorPlace::Use::kHeld, held_of_space_);
  uint32_t flags = 0;
  if (shareable || held->place) flags |= executor::kShareable;
  if (held->place) flags |= executor::kHandOut;
  auto made = ask({.kind = RequestKind::kMapSlab, .address = address, .bytes = bytes, .flags = flags});
  if (!made) {
    held->place = {};
    return std::unexpected(made.error());
  }
  return Hold(held, std::move(made->file), bytes);
}

Status Slabs::Hold(Held* held, os::StrangersFd file, uint64_t bytes) {
  if (!file || !held->place) {
    held->place = {};
    not_held_.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  const auto number = NumberOf(file.get());
  if (!MayBeSlab(file.get(), bytes) || (number && !files_.insert(*number).second)) {
    held->place = {};
    return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
                fmt::format("the program's executor has handed out what is no new memory of {} bytes", bytes));
  }
  held->file = file.Release();
  return {};
}

void Slabs::Drop(Held* held) {
  if (!held->file) not_held_.fetch_sub(1, std::memory_order_relaxed);
  if (const auto number = held->file ? NumberOf(held->file.get()) : std::nullopt) files_.erase(*number);
  *held = {};
}

Result<std::map<uint64_t, Slabs::Slab>::iterator> Slabs::Map(uint64_t bytes, uint64_t alignment, bool shareable) {
  const uint64_t size = AlignUp(bytes, kSlabBytes);
  const auto address = addresses_.Take(size, std::max(alignment, kSlabBytes));
  if (!address)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("no room for {} bytes in the client's window", bytes));
  Slab slab;
  std::shared_ptr<ExecutorLink> by;
  const Status mapped = Make(*address, size, shareable, &slab.held,
                             [this, &by](const executor::Request& request) -> Result<ExecutorLink::Reply> {
                               TUTTI_ASSIGN(CurrentExecutor::Reply reply, executor_->Ask(request));
                               by = std::move(reply.from);
                               return Result<ExecutorLink::Reply>(std::move(reply));
                             });
  if (!mapped) {
    if (by != nullptr) executor_->Lose(by.get(), mapped.error());
    addresses_.Give(*address, size);
    return std::unexpected(mapped.error());
  }
  slab.bytes = size;
  slab.clean = *address;
  return slabs_.emplace(*address, std::move(slab)).first;
}

void Slabs::Unmap(std::map<uint64_t, Slab>::iterator slab) {
  const auto [address, bytes] = std::pair(slab->first, slab->second.bytes);
  Drop(&slab->second.held);
  slabs_.erase(slab);
  executor_->Unmap(address, bytes);
  addresses_.Give(address, bytes);
}

Status Slabs::AttachTo(ExecutorLink& executor, bool as_it_was) {
  for (auto& [address, slab] : slabs_) {
    const auto shared = slab.shared.lock();
    if (!as_it_was && shared == nullptr) {
      Drop(&slab.held);
      const Status made = Make(address, slab.bytes, !slab.cut, &slab.held,
                               [&executor](const executor::Request& request) { return executor.Ask(request); });
      if (!made) {
        not_held_.fetch_add(1, std::memory_order_relaxed);  // as its next Drop takes it
        return made;
      }
      continue;
    }
    const int memory = slab.held.file ? slab.held.file.get() : shared != nullptr ? shared->descriptor() : -1;
    if (memory < 0) return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "no descriptor of the memory is held");
    TUTTI_TRY(executor.Ask({.kind = RequestKind::kMapMemory, .address = address, .bytes = slab.bytes}, memory));
  }
  return {};
}

void Slabs::LetGo() {
  for (auto& [address, slab] : slabs_) slab.held = {};
  files_.clear();
}

std::optional<uint64_t> Slabs::BytesOf(uint64_t address) const {
  const auto slab = slabs_.find(address);
  return slab == slabs_.end() || slab->second.cut ? std::nullopt : std::optional(slab->second.bytes);
}

Result<os::StrangersFd> Slabs::Export(uint64_t address) {
  if (const auto slab = slabs_.find(address); slab != slabs_.end() && slab->second.held.file) {
    os::Fd file(fcntl(slab->second.held.file.get(), F_DUPFD_CLOEXEC, 0));
    if (!file) return FailErrno("a descriptor of memory", cuda::CUDA_ERROR_OUT_OF_MEMORY);
    return os::StrangersFd(std::move(file));
  }
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
  fresh->second.cut.emplace(fresh->first, kSlabBytes, kAllocationAlignment);
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
