// The modules that a Space has loaded and the kernels made ready from them. Thread-safe.
//
// A kernel that is ready stays so until its module is unloaded. Its code need not: a client has a number of shared
// objects in memory at a time, each of some five mappings. Where one more is needed, the code goes that has not been
// launched for longest and is in no stream, and comes back when it is launched next (Space::LoadAgain).
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
#include "device/cpu/memory/window_memory.h"
#include "device/cpu/stream/kernel_instance.h"
#include "device/device.h"
#include "device/host_share.h"

namespace tutti::device::cpu {

class ModuleTable {
 public:
  // `most_loaded`: kernels of which the code may be in memory. Those that are being loaded come on top.
  ModuleTable(CodeSource* source, WindowMemory* memory, HostShare* host, uint32_t most_loaded)
      : source_(source), memory_(memory), host_(host), most_loaded_(most_loaded) {}

  Result<Space::LoadedModule> Load(uint32_t device, std::span<const uint8_t> image);
  // `make_room` is called with no lock held, before code is loaded; it returns what counts as the kernel's last launch.
  using MakeRoom = std::function<Result<uint64_t>()>;
  Result<PreparedKernel> Prepare(uint32_t module, uint32_t kernel, const uint32_t block[3], const MakeRoom& make_room);
  // Takes module and kernels out of the table. They, and the segment, stay as long as the result is kept.
  Result<std::shared_ptr<const void>> Unload(uint32_t module, module::SegmentAddresses* addresses);

  // Null if there is none. Valid until what Unload returned is let go.
  KernelInstance* Find(uint32_t kernel_id) const;

  // Of a kernel whose code was let go, with no lock held; and what it is to be given back with, with the Space's lock
  // held.
  Result<std::shared_ptr<const LoadedKernel>> CodeOf(uint32_t kernel_id);
  void GiveBack(uint32_t kernel_id, Result<std::shared_ptr<const LoadedKernel>> code, uint64_t launched);
  // With the Space's lock held: if there is no room for one more, lets the code of one kernel go, which is to be
  // destroyed without a lock. False if launches of all of them are in streams.
  bool MakeRoomForOne(std::shared_ptr<const LoadedKernel>* gone);

  // Load and Prepare return soon from now on, and fail.
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }

 private:
  struct Entry {
    std::shared_ptr<const ModuleInstance> instance;
    std::vector<uint32_t> kernel_ids;
  };
  using Shape = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;  // module, kernel, block

  // A place for a kernel, used again once the kernel is gone. The id tells who has it: kMostPrepared places, and how
  // often this one was used before.
  struct Place {
    std::shared_ptr<KernelInstance> kernel;
    uint32_t id = 0;
  };
  static constexpr uint32_t kMostPrepared = 16384;

  Result<module::SegmentAddresses> PlaceSegment(uint32_t device, const module::ModuleIndex& index);
  Result<PreparedKernel> Describe(uint32_t id) const;
  bool TakePlace(uint32_t* place);
  std::shared_ptr<KernelInstance> GiveBackPlace(uint32_t id);
  std::shared_ptr<KernelInstance> Lookup(uint32_t kernel_id) const;

  CodeSource* const source_;
  WindowMemory* const memory_;
  HostShare* const host_;
  const uint32_t most_loaded_;
  Cancelled cancelled_{false};
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, Entry> modules_;
  std::vector<Place> places_;  // by id % kMostPrepared
  uint32_t loaded_ = 0;  // of which the code is in memory
  std::deque<uint32_t> free_places_;  // the one that has been free longest first
  std::map<Shape, uint32_t> prepared_;
  uint32_t next_module_ = 1;
  uint64_t image_bytes_ = 0;
};

}  // namespace tutti::device::cpu
