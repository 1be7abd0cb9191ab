#include "device/cpu/memory/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/checked.h"
#include "base/clock.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kMostBytes = 64 << 20, kAtOnceBytes = 8 << 20, kPageBytes = 4096;
constexpr uint64_t kMostNs = 20'000'000;

void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

void MakeHugePages(uint64_t begin, uint64_t end) {
  begin = AlignUp(begin, kHugePageBytes);
  end = std::min(end / kHugePageBytes * kHugePageBytes, begin + kMostBytes);
  const uint64_t started_ns = NowNs();
  for (uint64_t at = begin; at < end && NowNs() - started_ns < kMostNs; at += kAtOnceBytes) {
    const uint64_t bytes = std::min(kAtOnceBytes, end - at);
    // The system collapses only what has a page. MADV_POPULATE_READ fails where a touch would end the process.
    for (uint64_t page = at; page < at + bytes; page += kHugePageBytes) {
      if (madvise(Pointer(page), kPageBytes, MADV_POPULATE_READ) != 0) return;
    }
    if (madvise(Pointer(at), bytes, MADV_COLLAPSE) != 0) return;
  }
}

}  // namespace tutti::device::cpu
