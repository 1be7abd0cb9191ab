#include "libraries/common/unsupported.h"

#include "base/log.h"

namespace tutti::libraries {

void SayUnsupported(const char* function, std::atomic<bool>& said) {
  if (said.exchange(true, std::memory_order_relaxed)) return;
  log::Warning("{} is not supported by Tutti's library of that name; tutti run --libraries=vendors uses the vendor's",
               function);
}

}  // namespace tutti::libraries
