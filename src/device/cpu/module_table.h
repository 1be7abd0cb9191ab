// The modules that a Space has loaded and the kernels prepared from them. Thread-safe.
//
// A prepared kernel stays prepared until its module is unloaded, but its code may be evicted: a client may have a
// number of shared objects in memory, each of some five mappings. To make room, the least recently launched code that
// is in no stream is evicted, and comes back with the kernel's next launch (Space::LoadAgain).
//
// Quick code is replaced when the optimised code is there. Blocks that have begun may end in the code that they began
// with, so both are in memory until the launches that were in streams are done, and count as two.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "device/compile/code_source.h"
#include "device/cpu/kernel_instance.h"
#include "device/cpu/memory/window_memory.h"
#include "device/device.h"
#include "device/host_share.h"

namespace tutti::device::cpu {

class ModuleTable {
 public:
  // `most_loaded`: kernels whose code may be in memory. Those that are being loaded come on top. `taker`: who calls
  // Replace.
  ModuleTable(CodeSource* source, WindowMemory* memory, HostShare* host, uint32_t most_loaded,
              std::weak_ptr<CodeTaker> taker)
      : source_(source), memory_(memory), host_(host), most_loaded_(most_loaded), taker_(std::move(taker)) {}

  Result<Space::LoadedModule> Load(uint32_t device, std::span<const uint8_t> image);
  // Called with no lock held, before code is loaded; returns what counts as the kernel's last launch.
  using MakeRoom = std::function<Result<uint64_t>()>;
  Result<PreparedKernel> Prepare(uint32_t module, uint32_t kernel, const uint32_t block[3], const MakeRoom& make_room);
  // Removes module and kernels from the table. They, and the segment, live as long as the result.
  Result<std::shared_ptr<const void>> Unload(uint32_t module, module::SegmentAddresses* addresses);

  // Null if there is none. Valid until Unload's result is destroyed.
  KernelInstance* Find(uint32_t kernel_id) const;

  // The same, which lives as long as the result.
  std::shared_ptr<KernelInstance> Keep(uint32_t kernel_id) const;

  // The one that is prepared for this block shape, if one is. As Find.
  KernelInstance* FindPrepared(const ModuleInstance& module, uint32_t kernel, const uint32_t block[3]) const;

  // CodeOf loads the code of an evicted kernel again, with no lock held; GiveBack installs it, with the Space's lock
  // held; AwaitBetter, with no lock held, is to follow.
  Result<LoadedCode> CodeOf(uint32_t kernel_id);
  void GiveBack(uint32_t kernel_id, Result<LoadedCode> code, uint64_t launched);
  // With the Space's lock held: if there is no room for one more, evicts the code of one kernel, which is to be
  // destroyed without a lock. False if launches of all of them are in streams.
  bool MakeRoomForOne(LoadedCode* gone);

  // Has the taker told of what comes in the code's place, if anything does.
  void AwaitBetter(const LoadedCode& code) const;
  // With the Space's lock held: `code` replaces `quick` wherever that is (CodeTaker::TakeCode). `launched`: how many
  // launches there were. What is to be destroyed without a lock is added to `gone`.
  void Replace(const LoadedCode& quick, const LoadedCode& code, uint64_t launched, std::vector<LoadedCode>* gone);
  // With the Space's lock held: a launch of the kernel is done, the `launch`th of all. Returns code that is to be
  // destroyed without a lock, or null.
  LoadedCode LaunchOver(KernelInstance* kernel, uint64_t launch) {
    --kernel->in_streams;
    if (kernel->replaced == nullptr && !kernel->is_outdated) [[likely]]
      return nullptr;
    return TakeUnused(kernel, launch);
  }

  // Load and Prepare return soon from now on, and fail.
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }

 private:
  struct Entry {
    std::shared_ptr<const ModuleInstance> instance;
    std::vector<uint32_t> kernel_ids;
  };
  using PreparedKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;  // module, kernel, block

  // A reusable slot for a kernel. The id tells which kernel it holds: kMostPrepared slots, and how often this one was
  // used before.
  struct Slot {
    std::shared_ptr<KernelInstance> kernel;
    uint32_t id = 0;
  };
  static constexpr uint32_t kMostPrepared = 16384;

  Result<module::SegmentAddresses> PlaceSegment(uint32_t device, const module::ModuleIndex& index);
  Result<PreparedKernel> Describe(uint32_t id) const;
  Result<PreparedKernel> List(const PreparedKey& key, std::shared_ptr<KernelInstance> prepared);
  bool TakeSlot(uint32_t* slot);
  std::shared_ptr<KernelInstance> GiveBackSlot(uint32_t id);
  std::shared_ptr<KernelInstance> Lookup(uint32_t kernel_id) const;
  bool HasRoom(LoadedCode* gone);
  LoadedCode TakeUnused(KernelInstance* kernel, uint64_t launch);

  CodeSource* const source_;
  WindowMemory* const memory_;
  HostShare* const host_;
  const uint32_t most_loaded_;
  const std::weak_ptr<CodeTaker> taker_;
  Cancelled cancelled_{false};
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, Entry> modules_;
  std::vector<Slot> slots_;  // by id % kMostPrepared
  uint32_t loaded_ = 0;  // pieces of their code in memory
  std::deque<uint32_t> free_slots_;  // the one that has been free longest first
  std::map<PreparedKey, uint32_t> prepared_;
  uint32_t next_module_ = 1;
  uint64_t image_bytes_ = 0;
};

}  // namespace tutti::device::cpu
