// The library's state in a process: whether it is initialised, and what was last seen.
//
// Programs ask one figure at a time, and often: what was seen is shared by all calls of the next moment. The library
// holds no descriptor, thread or process between calls, so a forked child just goes on: it is another process to the
// daemon. Everything is thread-safe.
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

  // What is there now, at most a moment old. Null: the daemon does not answer any more.
  static std::shared_ptr<const View> Now();
  // What was seen has been changed: the next call looks again.
  static void Forget();
};

// Handles of devices, by their index among those found by the first Begin. The values are ours: whatever else a caller
// passes is told apart without being dereferenced.
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
