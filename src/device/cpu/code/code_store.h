// Where the CPU device gets its code: from memory if it is loaded already, else from the cache on disk, else from a
// compiler, and then into the cache.
#pragma once

#include <memory>

#include "device/cpu/code/code_settings.h"
#include "device/cpu/code/compiler_host.h"
#include "device/cpu/code_source.h"

namespace tutti::device::cpu {

// Thread-safe. Concurrent requests for the same code wait for one compilation. Nothing is started and no file is
// touched until the first request.
std::shared_ptr<CodeSource> CreateCodeStore(const CodeSettings& settings, std::shared_ptr<CompilerHost> host);

}  // namespace tutti::device::cpu
