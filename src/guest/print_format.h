// Formats printf of kernels: a format and packed arguments in guest memory become text. Thread-safe.
//
// Arguments lie one after the other, each at its natural alignment after C's promotions: int 4 bytes, long, long long,
// double and pointers 8. Everything read is hostile: strings may lack a terminator, numbers may be absurd; the output
// is bounded.
#pragma once

#include <cstdint>
#include <string>

#include "guest/guest_memory.h"

namespace tutti::guest {

// What wants more than these stands in the text as it does in the format (CUDA C++ Programming Guide, "Formatted
// Output").
inline constexpr uint32_t kMostPrintArguments = 32;

struct PrintedText {
  std::string text;
  int32_t arguments = 0;  // consumed: what printf returns in device code; -1 if the format cannot be read
};

PrintedText FormatPrint(const GuestMemory& memory, uint64_t format, uint64_t arguments);

// A zero-terminated string, cut at `limit` bytes or where memory cannot be read.
std::string ReadGuestString(const GuestMemory& memory, uint64_t address, size_t limit);

}  // namespace tutti::guest
