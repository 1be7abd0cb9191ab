// What runs now, in words: for the answer to a query, and for the log.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"

namespace tutti::server {

struct ClientInfo;

// One JSON object on a line of its own: "id" (the client's number), "device", "kernel", "grid", "block", "blocks",
// "begun", "done", "seconds".
std::string RunningLine(const ClientInfo& client, uint32_t device, const device::Space::RunningKernel& kernel);

// The lines of all clients as one answer of at most `most_bytes` and a last line. None hides those of others: each has
// its part of what is left when it is its turn. Lines that do not fit are left out, and the last line is their number:
// {"left_out":3}.
std::string RunningAnswer(std::span<const std::vector<std::string>> clients, size_t most_bytes);

// "kernel k, grid (4,1,1), 2 of 4 blocks done, 3 begun, for 1.2 s"
std::string RunningText(const device::Space::RunningKernel& kernel);

}  // namespace tutti::server
