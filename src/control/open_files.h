// The descriptors that a server needs. It inherits the daemon's limit on open files, so the daemon checks it at its
// start.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/error.h"

namespace tutti::control {

// logs, epolls, compilers, clients being attached or torn down, files of ended clients whose memory others hold
inline constexpr uint64_t kFilesOfServer = 112;
// A part of what is left is for descriptors of exported memory.
constexpr uint64_t FilesForSharing(uint64_t files) { return (files - kFilesOfServer) / 16; }
// What the CPU device takes for memory of the host that clients share (device/cpu/memory/host_range.h).
constexpr uint64_t FilesForHostMemory(uint64_t files) { return std::min<uint64_t>(files / 32, 128); }
// socket, pidfd, doorbell, window, and a received file whose close is pending
inline constexpr uint64_t kFilesPerClient = 5;
// What a device takes besides: of its own, and for each client (device/device.h).
constexpr uint64_t MostClients(uint64_t files, uint64_t of_device = 0, uint64_t per_client_of_device = 0) {
  const uint64_t others = kFilesOfServer + FilesForSharing(files) + FilesForHostMemory(files) + of_device;
  return files < others ? 0 : (files - others) / (kFilesPerClient + per_client_of_device);
}

// Raises this process's limit to the hard limit and returns it. Fails if that leaves a server no room for a client; the
// line names the number that is needed and where it is set.
Result<uint64_t> RaiseOpenFiles();

}  // namespace tutti::control
