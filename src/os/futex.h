// Sleeping on a word of memory that may be shared with another process.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

namespace tutti::os {

// Sleeps while *word == expected, until woken or `timeout_ns` has passed (0: no limit). May wake spuriously; returns
// false only on timeout. A hostile peer may write the word: at worst this returns early or late, so callers that serve
// others always give a timeout.
inline bool FutexWait(const std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns = 0) {
  timespec limit{static_cast<time_t>(timeout_ns / 1'000'000'000u), static_cast<long>(timeout_ns % 1'000'000'000u)};
  const long result = syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ns ? &limit : nullptr, nullptr, 0);
  return !(result != 0 && errno == ETIMEDOUT);
}

// Wakes up to `count` sleepers.
inline void FutexWake(const std::atomic<uint32_t>* word, int count = INT_MAX) {
  syscall(SYS_futex, word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

}  // namespace tutti::os
