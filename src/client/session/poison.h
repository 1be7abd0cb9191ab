// What the client does about a bug of its own: it must not end its host, so instead of CHECK it logs one line, closes
// the gate and answers every later call with CUDA_ERROR_UNKNOWN. Thread-safe.
#pragma once

namespace tutti::client {

void Poison(const char* file, int line, const char* what);

}  // namespace tutti::client

#define TUTTI_POISON(what) ::tutti::client::Poison(__FILE__, __LINE__, what)
