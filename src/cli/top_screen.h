// The full-screen terminal of `tutti top`: drawing and keys.
#pragma once

#include "cli/top_model.h"

namespace tutti::cli {

class TopScreen {
 public:
  // Takes over the terminal; its destructor restores it.
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
