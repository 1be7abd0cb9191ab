// What runs now, in words: for the answer to a query, and for the log.
#pragma once

#include <string>
#include <vector>

#include "device/device.h"

namespace tutti::server {

struct ClientInfo;

// One JSON object on a line of its own: "id" (the client's number), "device", "kernel", "grid", "block", "blocks", "begun",
// "done", "seconds".
std::string RunningLine(const ClientInfo& client, uint32_t device, const device::Space::RunningKernel& kernel);

// "kernel k, grid (4,1,1), 2 of 4 blocks done, 3 begun, for 1.2 s"
std::string RunningText(const device::Space::RunningKernel& kernel);

}  // namespace tutti::server
