// A kernel's shared object in memory.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "device/compile/code_source.h"
#include "os/fd.h"

namespace tutti::device {

// Loads the object from `file`, which it keeps open, and validates its descriptor: magic, version, name, and that
// everything it points to lies in the object. Error: CUDA_ERROR_INVALID_IMAGE. Thread-safe.
Result<std::shared_ptr<const LoadedKernel>> LoadObject(os::Fd file, std::string_view kernel);

}  // namespace tutti::device
