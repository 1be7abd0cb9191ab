#include "device/cpu/memory/window_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/checked.h"
#include "base/clock.h"
#include "cuda/result.h"
#include "device/common/raise_counter.h"
#include "device/cpu/memory/huge_pages.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kGranularity = 256;
constexpr uint64_t kMostSmall = 16384;  // allocations that are rounded up to whole pages: 64 MiB at most
constexpr uint64_t kMostScratchShared = 64 << 10;  // of scratch memory, which counts nowhere once its client has ended

}  // namespace

WindowMemory::WindowMemory(uint64_t window_base, const wire::WindowShape& shape, std::shared_ptr<const os::Fd> file,
                           std::span<MemoryAccount* const> accounts, HostShare* host, HugePageMaker* maker,
                           const MemoryGroups& groups, Sink* sink, metrics::ClientCounters* counters)
    : base_(window_base),
      bytes_(shape.bytes),
      origin_(window_base + shape.host_bytes),
      device_part_reachable_(shape.device_part_reachable),
      addresses_base_(window_base + shape.reserved_begin()),
      constants_base_(window_base + shape.constants_begin()),
      file_(std::move(file)),
      accounts_(accounts.begin(), accounts.end()),
      host_(host),
      maker_(maker),
      groups_(accounts.size()),
      sink_(sink),
      counters_(counters),
      host_allocator_(window_base, shape.host_bytes, kGranularity, WindowAllocator::Grows::kDown),
      device_allocator_(origin_, addresses_base_ - origin_, kGranularity),
      constants_allocator_(constants_base_, window_base + shape.bytes - constants_base_, kPageBytes),
      addresses_(addresses_base_, constants_base_ - addresses_base_),
      extent_(window_base, addresses_base_ - window_base, file_->get(), origin_),
      constants_extent_(WindowExtent::ReadOnly(constants_base_, window_base + shape.bytes - constants_base_,
                                               file_->get(), constants_base_ - window_base)),
      reach_end_(extent_.end().load()),
      used_(accounts.size()),
      freed_(accounts.size()),
      limits_(accounts.size(), kNoMemoryLimit) {
  for (const auto& group : groups) {
    if (group->device < groups_.size()) groups_[group->device].push_back(group);
  }
}

WindowMemory::~WindowMemory() {
  maker_->Remove(this);
  if (home_ != nullptr) LeaveToHolders();
  for (const auto& [address, allocation] : allocations_) Unreserve(allocation);
}

// What others hold keeps its pages, and counts, as long as they hold it. The rest of the file goes at once: it would
// stay for as long as they have a part of it mapped.
void WindowMemory::LeaveToHolders() {
  std::vector<std::shared_ptr<SharedRange>> held;  // by us, until the lock is free
  {
    std::lock_guard lock(home_->mutex);
    home_->nobody_holds = nullptr;
    for (auto& [address, allocation] : allocations_) {
      auto range = allocation.shared.lock();
      const long ours = allocation.own != nullptr ? 2 : 1;
      if (range == nullptr || range.use_count() == ours) continue;
      range->Withdraw();
      if (allocation.end == Space::AtEnd::kLargest) range->FillWithLargest();
      home_->outliving.insert(allocation.share);
      if (allocation.on_device()) allocation.counts = Allocation::Counts::kNowhere;
      held.push_back(std::move(range));
    }
    if (!held.empty()) home_->Outlive();
  }
  if (held.empty()) return;
  std::ranges::sort(held, {}, &SharedRange::file_offset);
  uint64_t from = base_;
  for (const auto& range : held) {
    Punch(from, base_ + range->file_offset());
    from = base_ + range->file_offset() + range->bytes();
  }
  Punch(from, base_ + bytes_);
}

Result<uint64_t> WindowMemory::Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment,
                                        Holder holder) {
  if (device >= accounts_.size())
    return Fail(cuda::CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device));
  if (bytes == 0 || (alignment != 0 && !std::has_single_bit(alignment))) {
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "an allocation needs a size and an alignment that is a power of two");
  }
  if (bytes > bytes_)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes do not fit into the window", bytes));
  std::unique_lock lock(mutex_);
  const bool on_device = kind == wire::MemoryKind::kDevice || kind == wire::MemoryKind::kManaged;
  const bool whole_pages = TakesWholePages(kind, bytes, holder);
  if (whole_pages) alignment = std::max(alignment, kPageBytes);
  const Allocation allocation{.bytes = whole_pages ? AlignUp(bytes, kPageBytes) : device_allocator_.RoundUp(bytes),
                              .device = device,
                              .counts = on_device ? Allocation::Counts::kOnDevice : Allocation::Counts::kAsHostMemory,
                              .may_be_shared = whole_pages,
                              .small = whole_pages && on_device && bytes < kPageBytes,
                              .holder = holder};
  TUTTI_TRY(Reserve(allocation));
  const auto address = Take(allocation, kind, alignment);
  if (!address) {
    Unreserve(allocation);
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("no room for {} bytes in the client's window", bytes));
  }
  if (auto opened = extent_.Open(*address, *address + allocation.bytes); !opened) {
    AllocatorOf(*address).Give(*address, allocation.bytes);
    Unreserve(allocation);
    return std::unexpected(opened.error());
  }
  allocations_.emplace(*address, allocation);
  PublishReach();
  if (allocation.small) ++small_allocations_;
  if (allocation.on_device()) CountUse(device, static_cast<int64_t>(allocation.bytes));
  counters_[device].Add(metrics::Counter::allocations);
  const bool gets_huge_pages = allocation.on_device() && allocation.bytes >= kHugePageBytes && maker_->works();
  if (!gets_huge_pages) return *address;
  fresh_.Add(*address, allocation.bytes, NowNs());
  lock.unlock();
  maker_->Add(this);
  return *address;
}

std::optional<uint64_t> WindowMemory::Take(const Allocation& allocation, wire::MemoryKind kind, uint64_t alignment) {
  if (allocation.on_device() && allocation.bytes >= kHugePageBytes && alignment < kHugePageBytes) {
    if (const auto address = TakeAligned(allocation.bytes, kind, kHugePageBytes)) return address;
  }
  return TakeAligned(allocation.bytes, kind, alignment);
}

std::optional<uint64_t> WindowMemory::TakeAligned(uint64_t bytes, wire::MemoryKind kind, uint64_t alignment) {
  if (kind == wire::MemoryKind::kDevice) {
    const auto address = device_allocator_.Take(bytes, alignment);
    return address ? address : host_allocator_.Take(bytes, alignment);
  }
  const auto address = host_allocator_.Take(bytes, alignment);
  return address || !device_part_reachable_ ? address : device_allocator_.Take(bytes, alignment);
}

// The allocation of the page may be freed while it is made. Its addresses are then given back here, behind the page, so
// that no memory is taken that nobody has allocated.
WindowMemory::Made WindowMemory::MakeOne() {
  std::optional<uint64_t> page, dropped;
  {
    std::lock_guard lock(mutex_);
    page = fresh_.Next(NowNs());
    if (!page) return fresh_.empty() ? Made::kAllThatWaited : Made::kNoneYet;
  }
  bool refused = !MakeHugePage(*page), has_more;
  {
    std::lock_guard lock(mutex_);
    refused &= !fresh_.is_freed();
    dropped = fresh_.Made();
    has_more = !fresh_.empty();
  }
  if (dropped) Return(*dropped);
  return refused ? Made::kRefused : has_more ? Made::kOneOfMore : Made::kAllThatWaited;
}

Status WindowMemory::Reserve(const Allocation& allocation) {
  if (allocation.on_device()) return ReserveOnDevice(allocation.device, allocation.bytes);
  if (host_->Reserve(allocation.bytes)) return {};
  counters_[allocation.device].Add(metrics::Counter::memory_limit_hits);
  return host_->Refuse(allocation.bytes);
}

void WindowMemory::Unreserve(const Allocation& allocation) {
  if (allocation.counts == Allocation::Counts::kNowhere) return;
  if (allocation.on_device()) {
    accounts_[allocation.device]->Release(allocation.bytes, groups_[allocation.device]);
  } else {
    host_->Release(allocation.bytes);
  }
}

Status WindowMemory::ReserveOnDevice(uint32_t device, uint64_t bytes) {
  const auto refuse = [&](std::string text) {
    counters_[device].Add(metrics::Counter::memory_limit_hits);
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, std::move(text));
  };
  if (bytes > limits_[device] || used_[device] > limits_[device] - bytes) {
    return refuse(fmt::format("{} bytes exceed the client's limit of {}", bytes, limits_[device]));
  }
  switch (accounts_[device]->Reserve(bytes, groups_[device])) {
    case MemoryAccount::Answer::kGranted: return {};
    case MemoryAccount::Answer::kGroupFull:
      return refuse(fmt::format("{} bytes exceed the limit of the client's group", bytes));
    case MemoryAccount::Answer::kDeviceFull: break;
  }
  return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes are more than device {} has left", bytes, device));
}

void WindowMemory::CountUse(uint32_t device, int64_t bytes) {
  used_[device] += static_cast<uint64_t>(bytes);
  counters_[device].Set(metrics::Counter::memory_bytes, used_[device]);
  counters_[device].Raise(metrics::Counter::memory_peak_bytes, used_[device]);
  sink_->MemoryUsed(device, used_[device]);
}

void WindowMemory::CountFreed(uint32_t device, int64_t bytes) {
  freed_[device] += static_cast<uint64_t>(bytes);
  sink_->MemoryFreed(device, freed_[device]);
}

Status WindowMemory::Retire(uint64_t address) {
  std::shared_ptr<SharedRange> kept;  // dropped without the lock
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.retired || found->second.holder != Holder::kClient) {
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no allocation of the client begins at 0x{:x}", address));
  }
  found->second.retired = true;
  if (found->second.own != nullptr) {
    kept = std::move(found->second.own);
    kept->Withdraw();
  }
  if (found->second.on_device()) CountFreed(found->second.device, static_cast<int64_t>(found->second.bytes));
  return {};
}

void WindowMemory::Release(uint64_t address) {
  std::shared_ptr<SharedRange> held;
  {
    std::lock_guard lock(mutex_);
    Allocation& allocation = allocations_.at(address);
    held = allocation.shared.lock();
    allocation.released = true;
    if (held == nullptr) allocation.share = 0;  // one that is just going finds nothing to return
  }
  if (held == nullptr) Return(address);
}

// The allocation is the client's alone.
void WindowMemory::Return(uint64_t address) {
  AddressRanges::Dropped dropped;  // without the lock
  Allocation allocation;
  bool page_may_follow = false;
  {
    std::lock_guard lock(mutex_);
    allocation = allocations_.at(address);
    if (addresses_.Contains(address)) {
      addresses_.Free(address, &dropped);
      allocations_.erase(address);
      return;
    }
    page_may_follow = fresh_.Forget(address);
  }
  // Not yet reachable by others, so the expensive part needs no lock: zeroes partial pages, frees whole ones.
  const uint64_t end = address + allocation.bytes;
  Punch(address, end);

  std::lock_guard lock(mutex_);
  StopCounting(&allocations_.at(address));
  if (!fresh_.MayGo(address)) return;  // MakeOne calls this again
  if (page_may_follow) Punch(address, end);  // made since, perhaps behind the other Punch
  allocations_.erase(address);
  const auto [free_begin, free_bytes] = AllocatorOf(address).Give(address, allocation.bytes);
  // The pages at both ends may have become entirely free.
  const uint64_t first = std::max(AlignUp(free_begin, kPageBytes), address / kPageBytes * kPageBytes);
  const uint64_t last = std::min((free_begin + free_bytes) / kPageBytes * kPageBytes, AlignUp(end, kPageBytes));
  if (first < last && (first < address || last > end)) Punch(first, last);
  if (allocation.small) --small_allocations_;
}

// Its client may allocate as much again, though it may still have its addresses, and a page.
void WindowMemory::StopCounting(Allocation* allocation) {
  Unreserve(*allocation);
  if (allocation->on_device()) {
    CountUse(allocation->device, -static_cast<int64_t>(allocation->bytes));
    if (allocation->retired) CountFreed(allocation->device, -static_cast<int64_t>(allocation->bytes));
  }
  allocation->counts = Allocation::Counts::kNowhere;
}

bool WindowMemory::TakesWholePages(wire::MemoryKind kind, uint64_t bytes, Holder holder) const {
  if (kind == wire::MemoryKind::kScratch) return bytes >= kPageBytes && bytes <= kMostScratchShared;
  if (kind != wire::MemoryKind::kDevice || holder != Holder::kClient) return false;
  return bytes >= kPageBytes || small_allocations_ < kMostSmall;
}

void WindowMemory::PublishReach() {
  reach_end_.store(std::max(extent_.end().load(std::memory_order_relaxed),
                            addresses_.end() != addresses_base_ ? addresses_.end() : 0),
                   std::memory_order_release);
}

Result<uint64_t> WindowMemory::Reserve(uint32_t device, uint64_t bytes, uint64_t alignment, uint64_t wish) {
  if (device >= accounts_.size())
    return Fail(cuda::CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device));
  if (alignment != 0 && !std::has_single_bit(alignment))
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "an alignment that is no power of two");
  std::lock_guard lock(mutex_);
  const auto address = addresses_.Reserve(bytes, alignment, wish);
  if (!address) {
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("no {} addresses in a row are left of the client's {}",
                                                            bytes, constants_base_ - addresses_base_));
  }
  allocations_.emplace(
      *address,
      Allocation{.bytes = AlignUp(bytes, kPageBytes), .device = device, .counts = Allocation::Counts::kNowhere});
  PublishReach();
  return *address;
}

const std::shared_ptr<SharedRange::Home>& WindowMemory::HomeOfShared() {
  if (home_ == nullptr) {
    home_ = std::make_shared<SharedRange::Home>(file_);
    home_->nobody_holds = [this](uint64_t address, uint64_t share) { NobodyHolds(address, share); };
  }
  return home_;
}

Result<std::shared_ptr<SharedMemory>> WindowMemory::Share(uint64_t address, Space::AtEnd end) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.retired || found->second.holder != Holder::kClient ||
      addresses_.Contains(address)) {
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no memory of the client begins at 0x{:x}", address));
  }
  Allocation& allocation = found->second;
  if (!allocation.may_be_shared) {
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED,
                fmt::format("the {} bytes at 0x{:x} share a page with others", allocation.bytes, address));
  }
  if (allocation.own != nullptr) return allocation.own;
  allocation.share = ++last_share_;
  allocation.end = end;
  auto shared = std::make_shared<SharedRange>(
      HomeOfShared(), allocation.share, address, address - base_, allocation.bytes, allocation.device,
      allocation.on_device() ? accounts_[allocation.device] : nullptr, groups_[allocation.device]);
  if (end == Space::AtEnd::kLargest) shared->HaveCounters();
  allocation.shared = allocation.own = shared;
  return shared;
}

// Another range of the same allocation may have been made since: then its end is what counts.
void WindowMemory::NobodyHolds(uint64_t address, uint64_t share) {
  {
    std::lock_guard lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end() || found->second.share != share || !found->second.released) return;
    found->second.share = 0;
  }
  Return(address);
}

Status WindowMemory::Map(uint64_t address, const std::shared_ptr<SharedMemory>& memory, bool writable) {
  const auto range = std::static_pointer_cast<SharedRange>(memory);
  const auto file = range->file();
  if (file == nullptr) return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "too many ended clients' memory is still in use");
  std::lock_guard lock(mutex_);
  return addresses_.Map(address, range, file->get(), writable);
}

Status WindowMemory::Unmap(uint64_t address, uint64_t bytes) {
  AddressRanges::Dropped dropped;  // without the lock
  std::lock_guard lock(mutex_);
  return addresses_.Unmap(address, bytes, &dropped);
}

// With the lock, so that what is checked stays mapped.
Result<uint64_t> WindowMemory::Word(uint64_t address, uint32_t bytes, uint64_t add) {
  std::lock_guard lock(mutex_);
  const bool mapped = addresses_.Contains(address);
  const bool allowed = add == 0 ? MayTouch(address, bytes, false) && (!mapped || addresses_.Shows(address))
                       : mapped ? addresses_.MayWrite(address, bytes)
                                : extent_.Holds(address, bytes);
  if (!allowed)
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no memory of the client lies at 0x{:x}", address));
  const auto access = [&]<typename Value>(Value) -> uint64_t {
    std::atomic_ref word(*reinterpret_cast<Value*>(address));
    return add == 0 ? word.load(std::memory_order_acquire)
                    : word.fetch_add(static_cast<Value>(add), std::memory_order_acq_rel);
  };
  return bytes == sizeof(uint64_t) ? access(uint64_t{}) : access(uint32_t{});
}

bool WindowMemory::IsCounter(uint64_t address) const {
  std::lock_guard lock(mutex_);
  return address % sizeof(uint64_t) == 0 && HoldsCounter(address);
}

// With the lock. What is shared as counters of the client's own is a page (client/copy/shared_event.h).
bool WindowMemory::HoldsCounter(uint64_t address) const {
  if (addresses_.Contains(address)) return addresses_.ShowsCounter(address);
  const auto own = allocations_.find(address / kPageBytes * kPageBytes);
  return own != allocations_.end() && own->second.end == Space::AtEnd::kLargest;
}

// With the lock, so that it stays mapped.
void WindowMemory::StoreCounter(uint64_t address, uint64_t value) {
  std::lock_guard lock(mutex_);
  if (!HoldsCounter(address)) return;
  RaiseCounter(reinterpret_cast<uint64_t*>(address), value);
}

Result<uint64_t> WindowMemory::AllocateConstants(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const Allocation allocation{.bytes = constants_allocator_.RoundUp(bytes), .holder = Holder::kDevice};
  TUTTI_TRY(Reserve(allocation));
  const auto address = constants_allocator_.Take(allocation.bytes, kPageBytes);
  if (!address) {
    Unreserve(allocation);
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                fmt::format("no room for {} bytes of constants in the client's window", bytes));
  }
  if (auto opened = constants_extent_.Open(*address, *address + allocation.bytes); !opened) {
    constants_allocator_.Give(*address, allocation.bytes);
    Unreserve(allocation);
    return std::unexpected(opened.error());
  }
  allocations_.emplace(*address, allocation);
  return *address;
}

Status WindowMemory::WriteConstants(uint64_t address, std::span<const uint8_t> bytes) const {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        pwrite(fd(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(address - base_ + done));
    if (count <= 0) return FailErrno("writing constants", cuda::CUDA_ERROR_OUT_OF_MEMORY);
    done += static_cast<size_t>(count);
  }
  return {};
}

bool WindowMemory::HasConstants(uint64_t address, uint64_t bytes) const {
  return bytes != 0 && address + bytes > constants_base_ && address < base_ + bytes_;
}

bool WindowMemory::MayTouch(uint64_t address, uint64_t bytes, bool writes) const {
  const uint64_t begin = reach_begin().load(std::memory_order_acquire);
  const uint64_t end = reach_end().load(std::memory_order_acquire);
  return InRange(address - begin, bytes, end - begin) || (!writes && constants_extent_.Holds(address, bytes));
}

void WindowMemory::NameNearest(Fault* fault) const {
  std::lock_guard lock(mutex_);
  uint64_t nearest = ~0ull;
  for (const auto& [address, allocation] : allocations_) {
    const uint64_t end = address + allocation.bytes;
    const uint64_t distance = fault->address < address ? address - fault->address
                              : fault->address >= end  ? fault->address - end + 1
                                                       : 0;
    if (distance >= nearest) continue;
    nearest = distance;
    fault->allocation = address;
    fault->allocation_bytes = allocation.bytes;
  }
  if (nearest == ~0ull) return;
  const std::string where = nearest == 0                         ? "in"
                            : fault->address < fault->allocation ? fmt::format("{} bytes before", nearest)
                                                                 : fmt::format("{} bytes behind", nearest - 1);
  const bool reserved = addresses_.Contains(fault->allocation);
  fault->report += fmt::format("; that is {} the {} bytes {} at 0x{:x}", where, fault->allocation_bytes,
                               reserved ? "reserved" : "allocated", fault->allocation);
  if (reserved && nearest == 0 && !addresses_.Shows(fault->address)) fault->report += ", where nothing is mapped";
}

void WindowMemory::Punch(uint64_t begin, uint64_t end) const {
  // Cannot fail on our own memory file; if it did, only stale data of the same client would be seen.
  fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin - base_),
            static_cast<off_t>(end - begin));
}

void WindowMemory::SetLimits(const std::vector<uint64_t>& limits) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < limits_.size(); ++i) limits_[i] = i < limits.size() ? limits[i] : kNoMemoryLimit;
}

}  // namespace tutti::device::cpu
