#include "executor/fence.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "base/checked.h"
#include "executor/own_stream.h"

namespace tutti::executor {
namespace {

using namespace cuda;

constexpr uint32_t kGoOn = 0, kEnd = 1;  // what threads that jump back find
constexpr uint8_t kWhole = guest::kFenceReadable | guest::kFenceWritable;

}  // namespace

Status Fence::Write(CUdeviceptr to, const void* bytes, size_t count) const {
  return Copy(to, reinterpret_cast<CUdeviceptr>(bytes), count);
}

// It is done when this returns.
Status Fence::Copy(CUdeviceptr to, CUdeviceptr from, size_t count) const {
  if (count == 0) return {};
  TUTTI_TRY(vendor_.Check(vendor_.cuMemcpyAsync(to, from, count, stream_), "cuMemcpyAsync"));
  return vendor_.Check(vendor_.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

Status Fence::Open(uint64_t base, uint64_t host_bytes, uint64_t device_bytes) {
  base_ = base;
  host_bytes_ = host_bytes;
  bytes_ = host_bytes + device_bytes;
  if (is_open()) return {};
  TUTTI_ASSIGN(stream_, CreateOwnStream(vendor_));
  shadow_.assign(bytes_ / guest::kFenceSlabBytes, 0);
  TUTTI_ASSIGN(piece_, memory_->Take(guest::FenceBytes(bytes_)));
  map_ = piece_.device;
  TUTTI_TRY(Write(map_, shadow_.data(), shadow_.size()));
  printed_ = map_ + AlignUp(shadow_.size(), sizeof(uint64_t));
  const uint64_t none = 0;
  TUTTI_TRY(Write(printed_, &none, sizeof none));
  stop_ = printed_ + sizeof none;
  TUTTI_TRY(Write(stop_, &kGoOn, sizeof kGoOn));
  gates_ = stop_ + sizeof(uint64_t);
  const auto gates = std::make_unique<guest::LaunchGates>();
  TUTTI_TRY(Write(gates_, gates.get(), sizeof *gates));
  prints_.Open(&piece_.host->prints, piece_.host_address + offsetof(FenceMemory::Host, prints));
  fault_address_ = piece_.host_address + offsetof(FenceMemory::Host, fault);
  fault_ = &piece_.host->fault;
  return {};
}

Status Fence::SetMemory(uint64_t address, uint64_t bytes, uint8_t bits) {
  if (!is_open()) return {};
  if (address < base_ || !InRange(address - base_, bytes, bytes_))
    return Fail(CUDA_ERROR_INVALID_VALUE, "memory beyond the window");
  const uint64_t from = address - base_;
  const uint64_t first = AlignUp(from, guest::kFenceSlabBytes) / guest::kFenceSlabBytes;
  const uint64_t end = (from + bytes) / guest::kFenceSlabBytes;
  if (first >= end) return {};
  {
    std::lock_guard lock(mutex_);
    std::fill(shadow_.begin() + static_cast<ptrdiff_t>(first), shadow_.begin() + static_cast<ptrdiff_t>(end), bits);
  }
  // The run before the map where there is less, so that it never has what the map has not.
  if (bits != kWhole) TUTTI_TRY(Grow());
  TUTTI_TRY(Write(map_ + first, shadow_.data() + first, end - first));
  return bits == kWhole ? Grow() : Status{};
}

// Tells modules of the run that there is now: from the device part's begin, which stays.
Status Fence::Grow() {
  const auto begin = shadow_.begin() + static_cast<ptrdiff_t>(host_bytes_ / guest::kFenceSlabBytes);
  const auto end = std::find_if(begin, shadow_.end(), [](uint8_t bits) { return bits != kWhole; });
  const uint64_t run_bytes = static_cast<uint64_t>(end - begin) * guest::kFenceSlabBytes;
  if (run_bytes == run_bytes_) return {};
  run_bytes_ = run_bytes;
  for (const auto& [number, words] : words_)
    TUTTI_TRY(Write(words + offsetof(guest::FenceWords, run_bytes), &run_bytes_, sizeof run_bytes_));
  return {};
}

Status Fence::Enter(uint32_t number, CUmodule module) {
  CUdeviceptr address = 0;
  size_t bytes = 0;
  TUTTI_TRY(vendor_.Check(vendor_.cuModuleGetGlobal_v2(&address, &bytes, module, guest::kFenceVariable),
                          "the words of a fenced module"));
  if (bytes != sizeof(guest::FenceWords)) return Fail(CUDA_ERROR_INVALID_IMAGE, "a module with the words of another");
  const guest::FenceWords words{.run_base = base_ + host_bytes_,
                                .run_bytes = run_bytes_,
                                .fault = fault_address_,
                                .module = number,
                                .window_base = base_,
                                .window_bytes = bytes_,
                                .map = map_,
                                .stop = stop_,
                                .prints = prints_.address(),
                                .printed = printed_,
                                .gates = gates_};
  TUTTI_TRY(Write(address, &words, sizeof words));
  words_.insert_or_assign(number, address);
  return {};
}

void Fence::Leave(uint32_t number) { words_.erase(number); }

Status Fence::Stop() { return is_open() ? Write(stop_, &kEnd, sizeof kEnd) : Status{}; }

Status Fence::SetVerdict(guest::LaunchVerdict verdict) const {
  return Write(gates_ + offsetof(guest::LaunchGates, verdict), &verdict, sizeof verdict);
}

Status Fence::ReadBegun(std::span<uint64_t, guest::kLaunchGates> begun) const {
  return Copy(reinterpret_cast<CUdeviceptr>(begun.data()), gates_ + offsetof(guest::LaunchGates, begun),
              begun.size_bytes());
}

Status Fence::Close(bool is_over) {
  Status closed;
  const auto note = [&](const Status& status) {
    if (closed && !status) closed = status;
  };
  words_.clear();
  fault_ = nullptr;
  prints_.Close();
  const FenceMemory::Piece piece = std::exchange(piece_, {});
  if (is_over && piece.host != nullptr) memory_->GiveBack(piece);
  if (stream_ != nullptr)
    note(vendor_.Check(vendor_.cuStreamDestroy_v2(std::exchange(stream_, nullptr)), "cuStreamDestroy"));
  return closed;
}

// Acquire pairs with the barrier between a record's fields and its state (compiler/fence/check_functions.cc).
std::optional<guest::FenceFault> Fence::Fault() const {
  if (fault_ == nullptr) return std::nullopt;
  constexpr uint32_t kComplete = 2;
  if (std::atomic_ref(fault_->state).load(std::memory_order_acquire) != kComplete) return std::nullopt;
  return *fault_;
}

bool Fence::IsFaulting() const {
  if (fault_ == nullptr) return false;
  return std::atomic_ref(fault_->state).load(std::memory_order_acquire) == 1;
}

bool Fence::Allows(uint64_t address, uint64_t bytes, bool writes) const {
  if (fault_ == nullptr || bytes == 0) return true;
  const uint64_t device_base = base_ + host_bytes_, end = base_ + bytes_;
  // The host part is memory of this process, whether kernels reach it or not.
  if (address >= end || (address < base_ && bytes <= base_ - address)) return true;
  if (address < base_ || bytes > end - address) return false;
  const uint8_t wanted = writes ? kWhole : uint8_t{guest::kFenceReadable};
  const uint64_t from = std::max(address, device_base), last = address + bytes - 1;
  std::lock_guard lock(mutex_);
  for (uint64_t at = from; at <= last; at += guest::kFenceSlabBytes - at % guest::kFenceSlabBytes) {
    if ((shadow_[(at - base_) / guest::kFenceSlabBytes] & wanted) != wanted) return false;
  }
  return true;
}

}  // namespace tutti::executor
