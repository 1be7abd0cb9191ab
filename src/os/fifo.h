// Named pipes that others write lines into.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

// Creates a FIFO at `path` with permission bits `mode`, whatever the umask, and replaces what was there. It is opened
// non-blocking and never reports end of file. Fails if the path names something else by the time it is opened.
Result<Fd> MakeFifo(const std::string& path, mode_t mode);

}  // namespace tutti::os
