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

  // A view at most a moment old. Null: the daemon no longer answers.
  static std::shared_ptr<const View> Now();
  // Drops the view, after a change: the next call looks again.
  static void Forget();
};

// Handles of devices, by their index among those found by the first Begin. The values are ours: any other is
// recognised without being dereferenced.
nvmlDevice_t HandleOf(uint32_t device);

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
