// The modules that a Space has loaded and the kernels made ready from them. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "device/cpu/code_source.h"
#include "device/cpu/task.h"
#include "device/cpu/window_memory.h"
#include "device/host_share.h"
#include "device/device.h"

namespace tutti::device::cpu {

// One client's instance of a module: its index, its image, and where its variables lie.
struct ModuleInstance {
  uint32_t device = 0;
  guest::SegmentAddresses addresses;
  std::shared_ptr<const guest::ModuleIndex> index;
  std::shared_ptr<const std::vector<uint8_t>> image;  // one for all clients that load it
  HostHold hold;  // of so many bytes: it may be this client that keeps it
};

// A kernel of an instance, compiled for one block shape.
struct KernelInstance {
  std::shared_ptr<const ModuleInstance> module;
  std::shared_ptr<const LoadedKernel> code;
  std::shared_ptr<const std::string> name;
  uint32_t param_bytes = 0;
  uint32_t max_threads = 0;
  mutable BlockTime time;
};

class ModuleTable {
 public:
  ModuleTable(CodeSource* source, WindowMemory* memory, HostShare* host)
      : source_(source), memory_(memory), host_(host) {}

  Result<Space::LoadedModule> Load(uint32_t device, std::span<const uint8_t> image);
  Result<PreparedKernel> Prepare(uint32_t module, uint32_t kernel, const uint32_t block[3]);
  // Takes module and kernels out of the table. They, and the segment, stay as long as the result is kept.
  Result<std::shared_ptr<const void>> Unload(uint32_t module, guest::SegmentAddresses* addresses);

  // Null if there is none. Valid until what Unload returned is let go.
  const KernelInstance* Find(uint32_t kernel_id) const;

  // Load and Prepare return soon from now on, and fail.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }

 private:
  struct Entry {
    std::shared_ptr<const ModuleInstance> instance;
    std::vector<uint32_t> kernel_ids;
  };
  using Shape = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;  // module, kernel, block

  // A place for a kernel, used again once the kernel is gone. The id tells who has it: kMostLoaded places, and how often
  // this one was used before.
  struct Place {
    std::shared_ptr<KernelInstance> kernel;
    uint32_t id = 0;
  };
  // At a time: each is a shared object, of some five mappings.
  static constexpr uint32_t kMostLoaded = 4096;

  Result<guest::SegmentAddresses> PlaceSegment(uint32_t device, const guest::ModuleIndex& index);
  Result<PreparedKernel> Describe(uint32_t id) const;
  bool TakePlace(uint32_t* place);
  std::shared_ptr<KernelInstance> GiveBackPlace(uint32_t id);

  CodeSource* const source_;
  WindowMemory* const memory_;
  HostShare* const host_;
  Cancelled cancelled_{false};
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, Entry> modules_;
  std::vector<Place> places_;        // by id % kMostLoaded
  std::deque<uint32_t> free_places_;  // the one that has been free longest first
  std::map<Shape, uint32_t> prepared_;
  uint32_t next_module_ = 1;
  uint64_t image_bytes_ = 0;
};

}  // namespace tutti::device::cpu
