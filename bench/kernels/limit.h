// The least time that this machine needs for some work: its bytes at the speed of a copy of as much memory, its
// operations at that of independent FMAs, both on all cores and measured when asked.
#pragma once

#include <vector>

#include "problem.h"

namespace bench {

class Limit {
 public:
  double Ms(const Work& work);

 private:
  std::vector<char> from_, to_;
};

}  // namespace bench
