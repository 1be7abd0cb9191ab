// Types of the API table (cuda/api.def).
#pragma once

namespace tutti::cuda {

// The version that cuDriverGetVersion reports; the table has the functions up to this version.
inline constexpr int kDriverVersion = 13000;

enum class ApiClass {
  early,        // answered in the client, also before cuInit
  local,        // answered in the client
  ring,         // submits one record, does not wait
  call,         // may wait for the server
  unsupported,  // CUDA_ERROR_NOT_SUPPORTED
};

}  // namespace tutti::cuda
