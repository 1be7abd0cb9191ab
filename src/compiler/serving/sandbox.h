// Confines a worker before it reads its first request: whatever a hostile PTX makes the compiler do, it reaches its own
// memory, its socket, and nothing else.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace tutti::compiler {

struct SandboxLimits {
  uint64_t address_space_bytes = 4ull << 30;
  uint64_t file_bytes = 512ull << 20;  // of one memory file
  uint32_t cpu_seconds = 24 * 3600;  // of the worker's whole life; see LimitRequestTime
};

// Closes every descriptor but `socket`, `lifeline` (-1: none) and those of 0, 1, 2 that are neither, which become
// /dev/null, sets the limits, and installs the system call filter. Irreversible. Everything that needs a file must have
// happened before: libraries loaded, the code generator set up.
//
// Afterwards opening a path fails with ENOENT, except for /proc/self/fd/N, which yields a duplicate of descriptor N:
// lld takes its inputs by such paths only (link/shared_object.cc). Any call outside the filter's list ends the process
// with SIGSYS.
//
// The OOM killer takes such a process before all others. That is all that happens in a build with a sanitizer, whose
// own run-time needs what the sandbox forbids.
Status EnterSandbox(int socket, int lifeline, const SandboxLimits& limits);

// From now on the process may use `seconds` of processor time until SIGXCPU ends it. Call before each request.
constexpr uint32_t kRequestSeconds = 120;
void LimitRequestTime(uint32_t seconds);

}  // namespace tutti::compiler
