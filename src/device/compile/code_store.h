// The CPU device's source of code: loaded code, else the cache on disk, else a compiler, whose result goes into the
// cache.
#pragma once

#include <memory>

#include "device/compile/code_settings.h"
#include "device/compile/code_source.h"
#include "device/compile/compiler_host.h"

namespace tutti::device {

// Thread-safe. Concurrent requests for the same code share one compilation. No process is started and no file touched
// before the first request.
std::shared_ptr<CodeSource> CreateCodeStore(const CodeSettings& settings, std::shared_ptr<CompilerHost> host);

}  // namespace tutti::device
