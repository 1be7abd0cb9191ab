// Where the CPU device gets its code: from memory if it is loaded already, else from the cache on disk, else from a
// compiler, and then into the cache.
#pragma once

#include <memory>

#include "device/compile/code_settings.h"
#include "device/compile/code_source.h"
#include "device/compile/compiler_host.h"

namespace tutti::device {

// Thread-safe. Concurrent requests for the same code wait for one compilation. Nothing is started and no file is
// touched until the first request.
std::shared_ptr<CodeSource> CreateCodeStore(const CodeSettings& settings, std::shared_ptr<CompilerHost> host);

}  // namespace tutti::device
