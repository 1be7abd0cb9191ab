// Versions that the programs report.
#pragma once

namespace tutti::control {

// The number that `-v` prints, in CUDA's form (13.0 = 13000): scripts compare it to detect a daemon's features.
inline constexpr int kBinaryVersion = 13000;

}  // namespace tutti::control
