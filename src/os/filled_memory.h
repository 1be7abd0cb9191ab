// Memory files that one process creates and another fills. A reply too long for a packet goes into a file that came
// with the query, so the querier need not accept descriptors from its peer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

// Empty, close-on-exec. The process that fills it can change its size at any time, so it is read, never mapped.
Result<Fd> CreateMemoryToFill(std::string_view name);
// Appends `bytes`. Above the process's limit on file sizes this is an error, not a signal.
Status FillMemory(int fd, std::span<const uint8_t> bytes);
// Its whole content. Fails above `most_bytes`.
Result<std::vector<uint8_t>> ReadFilledMemory(int fd, uint64_t most_bytes);

}  // namespace tutti::os
