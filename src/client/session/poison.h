// The client's answer to a bug of its own. It must not end its host process, so instead of CHECK it logs one line,
// closes the gate and fails every later call with CUDA_ERROR_UNKNOWN. Thread-safe.
#pragma once

namespace tutti::client {

void Poison(const char* file, int line, const char* what);

}  // namespace tutti::client

#define TUTTI_POISON(what) ::tutti::client::Poison(__FILE__, __LINE__, what)
