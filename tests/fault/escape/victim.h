// A well-behaved client: it computes, checks every result to the bit, and keeps a secret in device memory. Whatever is
// done to the server beside it, it must not notice.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace tutti::fault {

inline constexpr char kSecret[] = "SECRET: nobody but the victim may read this. ";

// In memory shared with whoever watches.
struct VictimPage {
  std::atomic<uint64_t> rounds{0};
  std::atomic<uint64_t> secret{0};  // its device address
  std::atomic<int> server{0};       // process id
  std::atomic<bool> stop{false};
  std::atomic<bool> failed{false};
  char failure[256] = "";
};

// For a process of its own: works until `stop`, then ends it with status 0.
[[noreturn]] void BeTheVictim(VictimPage& page);

}  // namespace tutti::fault
