#include "device/gpu/gpu_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "cuda/result.h"
#include "device/gpu/lent_file.h"
#include "guest/gpu/fenced_ptx.h"
#include "guest/gpu/print_fifo.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kMostAlignment = 1ull << 30;

}  // namespace

Result<std::unique_ptr<GpuMemory>> GpuMemory::Create(CurrentExecutor* executor, uint64_t base,
                                                     const wire::WindowShape& shape, int window, Accounts accounts,
                                                     Sink* sink, metrics::ClientCounters* counters) {
  TUTTI_ASSIGN(HostPart host_part, HostPart::Create(executor, base, window, shape.host_bytes, accounts.host));
  std::unique_ptr<GpuMemory> memory(
      new GpuMemory(executor, base, shape, std::move(host_part), std::move(accounts), sink, counters));
  if (memory->accounts_.fenced) TUTTI_TRY(memory->CountFence());
  return memory;
}

GpuMemory::GpuMemory(CurrentExecutor* executor, uint64_t base, const wire::WindowShape& shape, HostPart host_part,
                     Accounts accounts, Sink* sink, metrics::ClientCounters* counters)
    : base_(base),
      bytes_(shape.bytes),
      accounts_(std::move(accounts)),
      sink_(sink),
      counters_(counters),
      executor_(executor),
      host_part_(std::move(host_part)),
      slabs_(executor, base + shape.host_bytes, shape.device_bytes),
      reserved_(base + shape.reserved_begin(), shape.reserved_bytes) {
  home_->gone = [this](uint64_t counted) { NobodyHolds(counted); };
}

void GpuMemory::Orphan() {
  std::lock_guard lock(home_->mutex);
  home_->gone = nullptr;
}

// What others hold counts as long as they do.
GpuMemory::~GpuMemory() {
  Orphan();
  EndWords();
  slabs_.LetGo();  // before others are given the memory
  std::vector<std::shared_ptr<SharedSlab>> held;  // by us, too
  for (const auto& [address, allocation] : allocations_) {
    auto shared = allocation.shared.lock();
    if (shared == nullptr) {
      Unreserve(allocation);
      continue;
    }
    shared->Withdraw();
    shared->LeaveToHolders();
    held.push_back(std::move(shared));
  }
  if (of_driver_ != 0) Unreserve({.bytes = of_driver_, .on_device = true});
  if (of_fence_ != 0) accounts_.account->Release(of_fence_, {});
}

Status GpuMemory::CountFence() {
  constexpr uint64_t kRecordBytes = 4096;  // of a fault
  fence_on_host_ = HostHold(accounts_.host, sizeof(guest::PrintFifo) + kRecordBytes);
  if (!fence_on_host_) return accounts_.host->Refuse(sizeof(guest::PrintFifo) + kRecordBytes);
  const uint64_t bytes = guest::FenceBytes(bytes_);
  if (accounts_.account->Reserve(bytes, {}) != MemoryAccount::Answer::kGranted)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes are more than the device has left", bytes));
  of_fence_ = bytes;
  return {};
}

Result<uint64_t> GpuMemory::Allocate(wire::MemoryKind kind, uint64_t bytes, uint64_t alignment, Holder holder) {
  if (bytes == 0 || (alignment != 0 && !std::has_single_bit(alignment)) || kind == wire::MemoryKind::kAddresses) {
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "an allocation needs a size and an alignment that is a power of two");
  }
  if (bytes > bytes_ || alignment > kMostAlignment)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes do not fit into the window", bytes));
  Allocation allocation{.bytes = AlignUp(bytes, kAllocationAlignment),
                        .on_device = kind == wire::MemoryKind::kDevice || kind == wire::MemoryKind::kManaged,
                        .in_host_part = kind != wire::MemoryKind::kDevice,
                        .scratch = kind == wire::MemoryKind::kScratch,
                        .of_device = holder == Holder::kDevice};
  TUTTI_TRY(Reserve(allocation));
  const auto address = executor_->WithOne([&] {
    std::lock_guard lock(changing_);
    return allocation.in_host_part ? host_part_.Take(allocation.bytes, alignment)
                                   : slabs_.Take(allocation.bytes, alignment);
  });
  std::lock_guard lock(mutex_);
  if (!address) {
    if (!allocation.on_device && address.error().code == cuda::CUDA_ERROR_OUT_OF_MEMORY)
      counters_->Add(metrics::Counter::memory_limit_hits);
    Unreserve(allocation);
    return address;
  }
  allocations_.emplace(*address, allocation);
  if (allocation.on_device) TellUse();
  counters_->Add(metrics::Counter::allocations);
  return *address;
}

Status GpuMemory::Reserve(const Allocation& allocation) {
  const auto refuse = [&](std::string text) {
    counters_->Add(metrics::Counter::memory_limit_hits);
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, std::move(text));
  };
  std::lock_guard lock(mutex_);
  const uint64_t bytes = allocation.bytes;
  if (!allocation.on_device) return {};  // the host part counts it
  if (bytes > limit_ || used_ > limit_ - bytes)
    return refuse(fmt::format("{} bytes exceed the client's limit of {}", bytes, limit_));
  switch (accounts_.account->Reserve(bytes, accounts_.groups)) {
    case MemoryAccount::Answer::kGranted: used_ += bytes; return {};
    case MemoryAccount::Answer::kGroupFull:
      return refuse(fmt::format("{} bytes exceed the limit of the client's group", bytes));
    case MemoryAccount::Answer::kDeviceFull: break;
  }
  return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes are more than the device has left", bytes));
}

void GpuMemory::Unreserve(const Allocation& allocation) {
  if (allocation.addresses || !allocation.on_device) return;
  accounts_.account->Release(allocation.bytes, accounts_.groups);
  used_ -= allocation.bytes;
}

Status GpuMemory::CountForDriver(uint64_t bytes) {
  if (bytes == 0) return {};
  TUTTI_TRY(Reserve({.bytes = bytes, .on_device = true}));
  std::lock_guard lock(mutex_);
  of_driver_ += bytes;
  TellUse();
  return {};
}

void GpuMemory::CountTaken(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  accounts_.account->Take(bytes, accounts_.groups);
  used_ += bytes;
  of_driver_ += bytes;
  TellUse();
}

uint64_t GpuMemory::LeftForDriver() const {
  const auto left_of = [](uint64_t limit, uint64_t used) { return limit - std::min(limit, used); };
  std::lock_guard lock(mutex_);
  uint64_t left =
      std::min(left_of(limit_, used_), left_of(accounts_.account->total_bytes(), accounts_.account->used_bytes()));
  for (const auto& group : accounts_.groups) left = std::min(left, left_of(group->hard_bytes, group->used_bytes));
  return left;
}

bool GpuMemory::is_limited() const {
  std::lock_guard lock(mutex_);
  return limit_ != kNoMemoryLimit ||
         std::ranges::any_of(accounts_.groups, [](const auto& group) { return group->hard_bytes != kNoMemoryLimit; });
}

void GpuMemory::RetireOfDriver(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes != 0) CountFreed(static_cast<int64_t>(bytes));
}

void GpuMemory::ReleaseOfDriver(uint64_t bytes, bool retired) {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  of_driver_ -= bytes;
  Unreserve({.bytes = bytes, .on_device = true});
  TellUse();
  if (retired) CountFreed(-static_cast<int64_t>(bytes));
}

void GpuMemory::TellUse() {
  counters_->Set(metrics::Counter::memory_bytes, used_);
  counters_->Raise(metrics::Counter::memory_peak_bytes, used_);
  sink_->MemoryUsed(0, used_);
}

void GpuMemory::CountFreed(int64_t bytes) {
  freed_ += static_cast<uint64_t>(bytes);
  sink_->MemoryFreed(0, freed_);
}

Status GpuMemory::Retire(uint64_t address, Holder holder) {
  std::shared_ptr<SharedSlab> kept;  // dropped without the lock
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.retired || found->second.of_device != (holder == Holder::kDevice))
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no allocation of the client begins at 0x{:x}", address));
  found->second.retired = true;
  kept = std::move(found->second.own);
  if (kept != nullptr) kept->Withdraw();
  if (const auto words = own_words_.find(address); words != own_words_.end()) words->second->Withdraw();
  if (found->second.on_device) CountFreed(static_cast<int64_t>(found->second.bytes));
  return {};
}

void GpuMemory::Release(uint64_t address) {
  Allocation allocation;
  std::shared_ptr<SharedSlab> held;  // these are dropped without the locks
  ReservedPart::Mappings hidden;
  const auto use = executor_->Using();  // else the next executor might be given it meanwhile
  {
    std::lock_guard lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end()) return;
    allocation = std::move(found->second);
    allocations_.erase(found);
    held = allocation.shared.lock();
    if (held != nullptr) held->LeaveToHolders();
    if (const auto words = own_words_.extract(address)) words.mapped()->End();
  }
  {
    std::lock_guard lock(changing_);
    if (allocation.in_host_part) {
      host_part_.Give(address, allocation.bytes);
    } else if (allocation.addresses) {
      {
        std::lock_guard mapped(mutex_);
        hidden = reserved_.TakeAll(address);
      }
      Hide(hidden);
      std::lock_guard mapped(mutex_);
      reserved_.Free(address);
    } else {
      slabs_.Give(address, allocation.bytes);
    }
  }
  if (held != nullptr) return;
  std::lock_guard lock(mutex_);
  Unreserve(allocation);
  if (!allocation.on_device) return;
  TellUse();
  if (allocation.retired) CountFreed(-static_cast<int64_t>(allocation.bytes));
}

Status GpuMemory::AttachTo(ExecutorLink& executor, bool as_it_was) {
  TUTTI_TRY(host_part_.AttachTo(executor));
  TUTTI_TRY(slabs_.AttachTo(executor, as_it_was));
  for (const auto& [address, mapping] : reserved_.mappings()) {
    if (mapping.slab == nullptr) continue;
    TUTTI_TRY(executor.Ask({.kind = executor::RequestKind::kMapMemory,
                            .address = address,
                            .bytes = mapping.memory->bytes(),
                            .flags = mapping.writable ? 0u : executor::kReadOnly},
                           mapping.slab->descriptor()));
  }
  return {};
}

// --- reserved addresses, and what is shared

bool GpuMemory::Contains(uint64_t address, uint64_t bytes, bool writes) const {
  if (address < base_ || !InRange<uint64_t>(address - base_, bytes, bytes_)) return false;
  if (!reserved_.Overlaps(address, bytes)) return true;
  std::lock_guard lock(mutex_);
  return reserved_.Covers(address, bytes, writes);
}

Result<uint64_t> GpuMemory::ReserveAddresses(uint64_t bytes, uint64_t alignment, uint64_t wish) {
  if (alignment != 0 && !std::has_single_bit(alignment))
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "an alignment that is no power of two");
  std::lock_guard changing(changing_);
  std::lock_guard lock(mutex_);
  return NoteAddresses(reserved_.Reserve(bytes, alignment, wish), bytes);
}

Result<uint64_t> GpuMemory::ReserveForArray(uint64_t bytes) {
  std::lock_guard changing(changing_);
  std::lock_guard lock(mutex_);
  return NoteAddresses(reserved_.ReserveForArray(bytes), bytes);
}

// With the locks.
Result<uint64_t> GpuMemory::NoteAddresses(std::optional<uint64_t> address, uint64_t bytes) {
  if (!address)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                fmt::format("no {} addresses in a row are left of the client's", bytes));
  allocations_.emplace(*address, Allocation{.bytes = bytes, .addresses = true});
  return *address;
}

// With the lock.
Result<GpuMemory::Allocation*> GpuMemory::FindShareable(uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.retired || found->second.addresses)
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no memory of the client begins at 0x{:x}", address));
  if (found->second.in_host_part) {
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "memory of the host is not shared between processes on a GPU yet");
  }
  return &found->second;
}

Result<std::shared_ptr<SharedMemory>> GpuMemory::Share(uint64_t address) {
  return executor_->WithOne([&] { return ShareNow(address); });
}

Result<std::shared_ptr<SharedMemory>> GpuMemory::ShareNow(uint64_t address) {
  std::lock_guard changing(changing_);
  {
    std::lock_guard lock(mutex_);
    TUTTI_ASSIGN(const Allocation* const allocation, FindShareable(address));
    if (allocation->own != nullptr) return allocation->own;
  }
  const auto bytes = slabs_.BytesOf(address);
  if (!bytes) {
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED,
                fmt::format("the memory at 0x{:x} shares {} bytes with others: on a GPU memory of more than half of "
                            "that can be shared, and the first few smaller allocations",
                            address, kSlabBytes));
  }
  DescriptorPlace place(DescriptorPlace::Use::kShared, home_->descriptors);
  if (!place) {
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                "as many descriptors of shared memory are open as the server's limit on open files (RLIMIT_NOFILE) "
                "allows");
  }
  TUTTI_ASSIGN(os::StrangersFd descriptor, slabs_.Export(address));
  if (!MayBeSlab(descriptor.get(), *bytes))
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "the driver exports something else than the memory");
  std::lock_guard lock(mutex_);
  TUTTI_ASSIGN(Allocation* const allocation, FindShareable(address));
  auto shared = std::make_shared<SharedSlab>(home_, std::move(descriptor), std::move(place), *bytes, allocation->bytes,
                                             accounts_.account, accounts_.groups);
  allocation->shared = allocation->own = shared;
  slabs_.Share(address, shared);
  return shared;
}

Result<std::shared_ptr<SharedMemory>> GpuMemory::ShareWords(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.retired || !found->second.scratch)
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no words of the client begin at 0x{:x}", address));
  std::shared_ptr<SharedWords>& words = own_words_[address];
  const uint64_t bytes = found->second.bytes;
  if (words == nullptr) words = std::make_shared<SharedWords>(host_part_.Reached(address, bytes), bytes);
  return words;
}

GpuMemory::Word GpuMemory::FindWord(uint64_t address, uint32_t bytes, bool writes) const {
  if (address % bytes != 0 || address < base_ || !InRange<uint64_t>(address - base_, bytes, bytes_)) return {};
  std::lock_guard lock(mutex_);
  if (reserved_.Overlaps(address, bytes)) {
    const auto* const mapping = reserved_.Find(address, bytes);
    if (mapping == nullptr || (writes && !mapping->second.writable)) return {};
    return {.in = std::dynamic_pointer_cast<SharedWords>(mapping->second.memory), .offset = address - mapping->first};
  }
  auto own = own_words_.upper_bound(address);
  if (own == own_words_.begin()) return {};
  --own;
  if (!InRange(address - own->first, uint64_t{bytes}, own->second->bytes())) return {};
  return {.in = own->second, .offset = address - own->first};
}

void GpuMemory::EndWords() {
  std::lock_guard lock(mutex_);
  for (const auto& [address, words] : own_words_) words->End();
}

Status GpuMemory::Map(uint64_t address, const std::shared_ptr<SharedMemory>& memory, bool writable) {
  return executor_->WithOne([&] { return MapNow(address, memory, writable); });
}

Status GpuMemory::MapNow(uint64_t address, const std::shared_ptr<SharedMemory>& memory, bool writable) {
  const auto* const slab = dynamic_cast<const SharedSlab*>(memory.get());
  std::lock_guard changing(changing_);
  bool fresh = false;
  {
    std::lock_guard lock(mutex_);
    TUTTI_ASSIGN(fresh, reserved_.Check(address, memory));
  }
  if (slab != nullptr) {
    TUTTI_TRY(executor_->Ask({.kind = fresh ? executor::RequestKind::kMapMemory : executor::RequestKind::kSetAccess,
                              .address = address,
                              .bytes = slab->bytes(),
                              .flags = writable ? 0u : executor::kReadOnly},
                             fresh ? slab->descriptor() : -1));
  }
  std::lock_guard lock(mutex_);
  reserved_.Insert(address, {.memory = memory, .slab = slab, .writable = writable});
  return {};
}

Status GpuMemory::Unmap(uint64_t address, uint64_t bytes) {
  ReservedPart::Mappings hidden;  // dropped without the locks
  return executor_->WithOne([&]() -> Status {
    std::lock_guard changing(changing_);
    {
      std::lock_guard lock(mutex_);
      TUTTI_ASSIGN(hidden, reserved_.Take(address, bytes));
    }
    Hide(hidden);
    return {};
  });
}

void GpuMemory::Hide(const ReservedPart::Mappings& mappings) {
  for (const auto& [address, mapping] : mappings) {
    if (mapping.slab != nullptr) executor_->Unmap(address, mapping.slab->bytes());
  }
}

void GpuMemory::NobodyHolds(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  Unreserve({.bytes = bytes, .on_device = true});
  TellUse();
  CountFreed(-static_cast<int64_t>(bytes));
}

void GpuMemory::SetLimit(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}

}  // namespace tutti::device::gpu
