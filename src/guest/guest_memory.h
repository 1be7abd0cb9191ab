// Memory as the code of one running block sees it: the client's window and the block's own shared, local and parameter
// memory. Other addresses are refused.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::guest {

class GuestMemory {
 public:
  virtual ~GuestMemory() = default;
  virtual bool Read(uint64_t address, void* out, size_t bytes) const = 0;
};

}  // namespace tutti::guest
