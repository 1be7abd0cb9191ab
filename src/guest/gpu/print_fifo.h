// What fenced kernels print: a ring of records in memory of the host's, outside of every client's, which threads of a
// device write (compiler/fence/print_functions.h) and the host reads while they run (executor/print_fifo.h).
//
// A thread measures what it is to print, reserves so many bytes if they are free, and drops it if they are not: nothing
// that the host has not read is overwritten. PrintHead::bytes is written last. The host puts zeros where it has read,
// so a record that begins with 0 is not there yet.
//
// Layouts here are baked into generated code.
#pragma once

#include <cstdint>

namespace tutti::guest {

inline constexpr uint64_t kPrintRingBytes = 1 << 20;  // as much as CUDA's FIFO has by default; a power of two
// With their zeros. What is longer is cut.
inline constexpr uint64_t kMostPrintFormatBytes = 8 << 10, kMostPrintStringBytes = 8 << 10;

struct PrintFifo {
  uint64_t consumed;  // bytes ever, by the host
  uint64_t reserved[7];
  uint8_t ring[kPrintRingBytes];  // a record may go on at its begin
};
static_assert(sizeof(PrintFifo) == 64 + kPrintRingBytes);

enum class PrintKind : uint32_t { kText = 0, kAssertion = 1 };

// Then come the format, the arguments as vprintf has got them, as many as are printed (guest/print_format.h), and the
// strings that they point to, all with offsets from the record's begin in place of addresses.
struct PrintHead {
  uint32_t bytes;  // of the record, a multiple of 8
  uint32_t kind;  // PrintKind
  uint32_t arguments;  // offset
  uint32_t reserved;
};
static_assert(sizeof(PrintHead) == 16);

}  // namespace tutti::guest
