// Output of kernels: device-side printf to stdout, failed device-side asserts to stderr.
#pragma once

namespace tutti::client {

// Writes out what has arrived. Called after every wait for the device. Costs two loads if there is nothing.
// Thread-safe.
void DrainPrints();

}  // namespace tutti::client
