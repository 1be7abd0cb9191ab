// The library's state in a process: whether it is initialised, and its last view of the devices.
//
// Programs ask for one figure at a time, and often, so all calls of the next moment share one view. The library holds
// no descriptor, thread or process between calls, so a forked child just continues: to the daemon it is another
// process. Everything is thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "nvml/abi.h"
#include "nvml/view.h"

namespace tutti::nvml {

class Session {
 public:
  // nvmlInit: counted. The first one finds the devices, and fails if it cannot.
  static nvmlReturn_t Begin();
  // nvmlShutdown: NVML_ERROR_UNINITIALIZED if there were as many as inits.
  static nvmlReturn_t End();
  static bool active();

  // A view at most a moment old. Null: the daemon no longer answers. After a failure that took long, others follow at
  // once for twice as long, so a daemon that hangs takes a third of the program's time at most.
  static std::shared_ptr<const View> Now();
  // Drops the view, after a change: the next call looks again.
  static void Forget();
};

// The handle of a device of a view, whichever view other threads have got since. The values are ours: any other is
// recognised without being dereferenced. Null for devices beyond those that there are handles for.
nvmlDevice_t HandleOf(const Device& device);

// The device of a handle in this view; null if it is none of ours, or if the view has no such device. A handle stays
// with its device when the devices change.
struct Found {
  const Device* device = nullptr;
  uint32_t index = 0;
};
Found Find(const View& view, nvmlDevice_t handle);

// The number of the handle, whatever is there now; nothing if it is none of ours.
bool IsHandle(nvmlDevice_t handle);

}  // namespace tutti::nvml
