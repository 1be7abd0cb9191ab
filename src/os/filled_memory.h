// Memory files that one process makes and another one fills: an answer that is too long for a packet goes into a file
// of who asked, so that nobody has to take a descriptor from the other side.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

// Empty, close-on-exec. Who fills it can change its size at any time: it is read, never mapped.
Result<Fd> CreateMemoryToFill(std::string_view name);
// Writes `bytes` where the last ones ended. Above the process's limit on the size of files: an error, and no signal.
Status FillMemory(int fd, std::span<const uint8_t> bytes);
// All that is in it now. Fails above `most_bytes`.
Result<std::vector<uint8_t>> ReadFilledMemory(int fd, uint64_t most_bytes);

}  // namespace tutti::os
