// What the programs call themselves.
#pragma once

namespace tutti::control {

// The number that `-v` prints, in CUDA's form (13.0 = 13000): scripts compare it to learn what a daemon can do.
inline constexpr int kBinaryVersion = 13000;

}  // namespace tutti::control
