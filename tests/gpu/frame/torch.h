// Finds an interpreter with PyTorch, which only the runs of real models need.
#pragma once

#include <string>

namespace tutti::gpu {

struct Torch {
  std::string python;  // empty: not here
  std::string version;
  std::string folder;  // of the package
  std::string why_not;
};
// Looks for it; takes seconds the first time, since the package is large. The run's first answer is kept for the
// others.
Torch FindTorch();

}  // namespace tutti::gpu
