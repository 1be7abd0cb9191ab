// What the API table (cuda/api.def) is made of.
#pragma once

namespace tutti::cuda {

// The version cuDriverGetVersion reports, and the newest whose functions are in the table.
inline constexpr int kDriverVersion = 13000;

enum class ApiClass {
  early,        // answered in the client, also before cuInit
  local,        // answered in the client
  ring,         // one record, nobody waits
  call,         // may wait for the server
  unsupported,  // CUDA_ERROR_NOT_SUPPORTED
};

}  // namespace tutti::cuda
