// NVIDIA's own MPS, for the steps that compare with it or run under it: a control daemon of the run's alone.
#pragma once

#include <string>

#include "frame/settings.h"

namespace tutti::gpu {

class NvidiaMps {
 public:
  // Starts the daemon with directories of its own below the scratch directory. Empty: it runs. Else why not.
  std::string Start(const Settings& settings);
  const std::string& pipe_directory() const { return pipes_; }
  const std::string& log_directory() const { return logs_; }
  // Tells it to quit. What is left of it is among the run's children (EndAllChildren).
  void End();
  ~NvidiaMps() { End(); }

 private:
  std::string program_, pipes_, logs_;
};

// What a control command answers, by the daemon that this process's environment names; "" if it says nothing in time.
std::string AskNvidiaMps(const std::string& command, double seconds = 3);

}  // namespace tutti::gpu
