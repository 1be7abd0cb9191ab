// The terminal of `tutti top`: a full screen that is redrawn in place, and keys.
#pragma once

#include "cli/top_model.h"

namespace tutti::cli {

class TopScreen {
 public:
  // Takes the terminal over; gives it back when destroyed.
  TopScreen();
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  void Draw(const TopModel& model, TopOrder order, bool paused);

  enum class Key { kNone, kQuit, kShare, kMemory, kLaunches, kPid, kPause, kResize };
  // The next key, or kNone after `milliseconds`.
  Key Wait(int milliseconds);
};

}  // namespace tutti::cli
