// Copies of one word in one store.
//
// memcpy and memset may write the same bytes twice: glibc writes 4 and 8 bytes as two words that overlap, here in all
// of their bytes. A thread that waits for the word and answers in it may do so after the first store; the second
// store then undoes the answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace tutti {

// Copies 4 or 8 bytes to an aligned address in one store, which releases. False, and nothing is done, for other bytes.
inline bool StoreOnce(void* to, const void* from, uint64_t bytes) {
  const auto store = [&]<typename Word>(Word word) {
    if (reinterpret_cast<uintptr_t>(to) % sizeof word != 0) return false;
    std::memcpy(&word, from, sizeof word);
    std::atomic_ref(*static_cast<Word*>(to)).store(word, std::memory_order_release);
    return true;
  };
  if (bytes == sizeof(uint32_t)) return store(uint32_t{});
  return bytes == sizeof(uint64_t) && store(uint64_t{});
}

}  // namespace tutti
