// Settings of a run, as environment variables: the run sets them, its steps and their peers read them.
#pragma once

#include <string>

namespace tutti::gpu {

struct Settings {
  std::string vendor;   // the driver's path
  std::string mps;      // of NVIDIA's control program for MPS; empty: where it usually is
  bool small = false;   // sizes and rounds for a continuous-integration machine
  std::string scratch;  // a directory for files; the run removes it
  std::string data;     // where the files that belong to the program are: beside it
  std::string step;     // "P8/far_read": of which step this process is part

  // `small` or `full`, by the setting.
  template <typename T>
  T Size(T full, T tiny) const {
    return small ? tiny : full;
  }
};

// Small runs are for busy machines, and nothing is measured in them: times that something may take are longer.
inline constexpr double kSmallPatience = 6;

// Those of this process, read at the first call.
const Settings& Here();
// For processes that are started from now on.
void Announce(const Settings& settings);

// The file that this program was started from, and its directory.
std::string OwnPath();
std::string OwnDirectory();

// Descriptors that each process of a step has.
inline constexpr int kChannelFd = 3;   // a peer's: to the process that started it
inline constexpr int kResultsFd = 4;   // results.jsonl, for appending
inline constexpr int kProgressFd = 5;  // the page that says which driver call a process is in

}  // namespace tutti::gpu
