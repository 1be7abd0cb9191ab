// The compute mode of each device: who may make contexts on it. Set by root, kept in a file, so it outlives daemons and
// restarts; read anew by a server for each client that attaches.
//
// A mode orders the use of a device, it protects nothing: the CPU device is the processor itself, which everybody has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cuda/compute_mode.h"

namespace tutti::control {

enum class ComputeMode : int32_t {
  kDefault = cuda::CU_COMPUTEMODE_DEFAULT,  // everybody
  kProhibited = cuda::CU_COMPUTEMODE_PROHIBITED,  // nobody
  kExclusiveProcess = cuda::CU_COMPUTEMODE_EXCLUSIVE_PROCESS,  // programs that come through the control daemon
};

const char* ComputeModeName(ComputeMode mode);  // "DEFAULT", "PROHIBITED", "EXCLUSIVE_PROCESS"

// A name as above, in any case, or NVIDIA's number for it.
Result<ComputeMode> ParseComputeMode(std::string_view text);

class ComputeModes {
 public:
  // From the file; a missing or unreadable one means the default for all devices, lines that cannot be read are left
  // out.
  static ComputeModes Load();

  // `uuid` as "GPU-xxxxxxxx-xxxx-...".
  ComputeMode Of(std::string_view uuid) const;
  // Those that are not in the default mode.
  const std::map<std::string, ComputeMode, std::less<>>& all() const { return modes_; }

  // Stores the mode of one device; others keep theirs. Fails with the file and the reason, for others than root mostly.
  static Status Set(const std::string& uuid, ComputeMode mode);

  // $TUTTI_STATE_DIR (/var/lib/tutti) + "/compute_modes".
  static std::string File();

 private:
  std::map<std::string, ComputeMode, std::less<>> modes_;  // without those in the default mode
};

}  // namespace tutti::control
