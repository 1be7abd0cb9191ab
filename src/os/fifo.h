// Named pipes that others write lines into.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

// A new FIFO at `path` with permission bits `mode`, whatever the umask; what was there is replaced. Open for reading
// without waiting, and never at its end. Fails if something else stands there by the time it is opened.
Result<Fd> MakeFifo(const std::string& path, mode_t mode);

}  // namespace tutti::os
