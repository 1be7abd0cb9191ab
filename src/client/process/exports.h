// The API table at run time: what cuGetProcAddress searches.
#pragma once

#include <span>

#include "cuda/api.h"

namespace tutti::client {

struct Export {
  const char* name;    // what cuGetProcAddress is asked for
  const char* symbol;  // what is exported
  int version;
  bool per_thread;  // its NULL stream is the calling thread's own
  cuda::ApiClass api_class;
  void (*function)();
};

std::span<const Export> Exports();

}  // namespace tutti::client
