// Describes the running kernels, for replies to queries and for the log.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"

namespace tutti::server {

struct ClientInfo;

// One JSON object per line: "id" (the client's number), "device", "kernel", "grid", "block", "blocks", "begun", "done",
// "seconds".
std::string RunningLine(const ClientInfo& client, uint32_t device, const device::Space::RunningKernel& kernel);

// Joins the lines of all clients into a reply of at most `most_bytes` plus a last line. No client crowds out the
// others: each gets an equal part of what is left at its turn. Lines that do not fit are left out, and the last line
// gives their number: {"left_out":3}.
std::string RunningAnswer(std::span<const std::vector<std::string>> clients, size_t most_bytes);

// "kernel k, grid (4,1,1), 2 of 4 blocks done, 3 begun, for 1.2 s"
std::string RunningText(const device::Space::RunningKernel& kernel);

}  // namespace tutti::server
