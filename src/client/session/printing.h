// What kernels print: device-side printf to stdout, failed device-side asserts to stderr.
#pragma once

namespace tutti::client {

// Writes out what has arrived. Called by everything that waits for the device. Costs two loads if there is nothing.
// Thread-safe.
void DrainPrints();

}  // namespace tutti::client
