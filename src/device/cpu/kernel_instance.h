// A module as one client has loaded it, and a kernel of it prepared for one block shape (module_table.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/compile/code_source.h"
#include "device/cpu/schedule/task.h"
#include "device/host_share.h"
#include "module/module_index.h"

namespace tutti::device::cpu {

struct KernelInstance;

// One client's instance of a module: its index, its image, and where its variables lie.
struct ModuleInstance {
  uint32_t device = 0;
  uint32_t id = 0;
  module::SegmentAddresses addresses;
  std::shared_ptr<const module::ModuleIndex> index;
  std::shared_ptr<const std::vector<uint8_t>> image;  // one for all clients that load it
  HostHold hold;  // of its bytes: this client may be the last to keep it

  // Its kernels that are prepared, by number and block shape; also when it has been unloaded, for work submitted
  // before. The table's.
  mutable std::map<std::array<uint32_t, 4>, KernelInstance*> prepared;

  // The number of the kernel with this address in device code (module::FunctionAddress). With the Space's lock held.
  std::optional<uint32_t> KernelAt(uint64_t address) const;

 private:
  mutable std::vector<uint32_t> kernel_numbers_;  // by table index; made when first asked for
};

// A kernel of an instance, compiled for one block shape.
struct KernelInstance {
  std::shared_ptr<const ModuleInstance> module;
  uint32_t number = 0;  // of the module's kernels
  uint32_t block[3] = {};
  std::shared_ptr<const std::string> name;
  uint32_t param_bytes = 0;
  uint32_t local_bytes = 0;
  uint32_t max_threads = 0;
  mutable BlockHabits habits;

  // These written under both the Space's lock and the table's, so read under either.
  LoadedCode code;  // null: evicted
  LoadedCode replaced;  // quick code, of which the launches up to `replaced_at` are not done
  // Of `code`, for the blocks of running grids that begin; read without a lock.
  std::atomic<const guest::KernelDescriptor*> newest{nullptr};
  // Under the Space's lock.
  uint64_t replaced_at = 0;
  uint32_t in_streams_before = 0;  // of in_streams, up to `replaced_at`
  // There is better code, and there was no room for it: this goes as soon as it is in no stream.
  bool is_outdated = false;
  uint32_t in_streams = 0;  // launches that are not done
  uint64_t launched = 0;    // when it was last, in the order of launches
  std::optional<Error> load_error;  // why reloading its code failed, for the next launch
  // Under the table's.
  bool is_listed = true;
};

}  // namespace tutti::device::cpu
