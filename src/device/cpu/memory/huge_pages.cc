#include "device/cpu/memory/huge_pages.h"

#include <sys/mman.h>

#include <cerrno>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

namespace tutti::device::cpu {

bool MakeHugePage(uint64_t address) {
  constexpr uint64_t kPageBytes = 4096;
  void* const page = reinterpret_cast<void*>(address);
  // The system collapses only what has a page. MADV_POPULATE_READ fails where a touch would end the process.
  if (madvise(page, kPageBytes, MADV_POPULATE_READ) != 0) return false;
  return madvise(page, kHugePageBytes, MADV_COLLAPSE) == 0 || errno == EAGAIN;  // some of it is just in use
}

}  // namespace tutti::device::cpu
