// The compute mode of each device: who may create contexts on it. Root sets it; it is stored in a file, so it survives
// daemons and restarts, and a server reads it again for each client that attaches.
//
// A mode organises the use of a device; it is no protection, since the CPU device is the processor itself, which
// everybody can use.
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
  // Reads the file. A missing or unreadable one means the default for all devices; unreadable lines are skipped.
  static ComputeModes Load();

  // `uuid` as "GPU-xxxxxxxx-xxxx-...".
  ComputeMode Of(std::string_view uuid) const;
  // The devices that are not in the default mode.
  const std::map<std::string, ComputeMode, std::less<>>& all() const { return modes_; }

  // Stores the mode of one device; others keep theirs. The error, usually for lack of root's rights, names the file and
  // the reason.
  static Status Set(const std::string& uuid, ComputeMode mode);

  // $TUTTI_STATE_DIR (/var/lib/tutti) + "/compute_modes".
  static std::string File();

 private:
  std::map<std::string, ComputeMode, std::less<>> modes_;  // only those not in the default mode
};

}  // namespace tutti::control
