// The blocks of a row of the grid through which a kernel's code goes on by itself (BlockState::ctaid_end): small blocks
// take less time than leaving the code and entering it again. How far it may go, and how far it has come.
//
// Only for code that never gives up its thread by itself but in a service, and that may be left at any instruction
// (kAsyncLeave): nothing in it looks for requests to stop.
//
// The code, the functions here and the signal handlers run on one thread, or one after the other on several. So it is
// enough that the code stores how far it has come before it loads how far it may go:
//
//   the code stores n to ctaid[0], loads ctaid_end,      interrupted it is
//   and goes on to n if that lies before the end         in front of the store   in n - 1
//                                                        behind it, n < end      in n, or about to begin it
//                                                        behind it, n = end      in n - 1, which has ended
//
// In each case it is in min(ctaid[0], ctaid_end - 1), and goes no further once ctaid_end is one more than that.
#pragma once

#include <cstdint>

#include "guest/cpu/kernel_abi.h"

namespace tutti::guest {

class BlockRow {
 public:
  // Of the run whose code sees `block`.
  explicit BlockRow(BlockState* block) : block_(block) {}

  // The block was moved to where its ctaid says, and is to be the only one.
  void Begin();
  // The code does not run, and may go on to `more` blocks behind the one that it is in, all of one row.
  void GoOn(uint32_t more);
  // The code has been left, or has returned, or a service was called. Returns how many blocks have ended since it was
  // asked last, and lets ctaid say in which block the code is.
  uint32_t NoteProgress();
  // The code is to end with the block that it is in. Also by a signal handler that has interrupted it.
  // Async-signal-safe.
  void EndHere();

 private:
  uint32_t Reached() const;

  BlockState* const block_;
  uint32_t noted_ = 0;  // ctaid[0], of the block in which the code was found last
};

}  // namespace tutti::guest
