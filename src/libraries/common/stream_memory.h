// Device memory for the work of one call, in the order of its stream: allocated before that work, and freed after it
// without waiting. In a stream that is captured it becomes part of the graph.
#pragma once

#include <cstddef>
#include <utility>

#include "libraries/common/driver.h"

namespace tutti::libraries {

class StreamMemory {
 public:
  explicit StreamMemory(CUstream stream) : stream_(stream) {}
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory() {
    if (address_ != 0) cuMemFreeAsync(address_, stream_);
  }

  // Once for each object. `bytes` above 0.
  CUresult Allocate(size_t bytes) { return cuMemAllocAsync(&address_, bytes, stream_); }
  CUdeviceptr address() const { return address_; }

 private:
  CUstream stream_;
  CUdeviceptr address_ = 0;
};

}  // namespace tutti::libraries
