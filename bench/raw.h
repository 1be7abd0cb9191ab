// The floors: what the machine can do without CUDA in between.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

// ns to write one 128-byte record into a ring of shared memory that another thread empties: one fetch_add, the record,
// one release store. `count` samples.
std::vector<double> RawRingRecords(size_t count);

// ns from writing a word of shared memory to seeing another thread's answer in the next line, both spinning.
std::vector<double> SpinRoundTrips(size_t count);

// ns of one byte to another thread and back over a Unix stream socket.
std::vector<double> SocketRoundTrips(size_t count);

}  // namespace bench
