// Summary statistics of many durations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace tutti::gpu {

// The value below which this part of the sample lies; 0 for none. `part` of 0.5 is the median.
inline double Quantile(std::vector<double> sample, double part) {
  if (sample.empty()) return 0;
  const size_t at = std::min(sample.size() - 1, static_cast<size_t>(part * static_cast<double>(sample.size())));
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(at), sample.end());
  return sample[at];
}
inline double Median(const std::vector<double>& sample) { return Quantile(sample, 0.5); }

class Stopwatch {
 public:
  double us() const { return static_cast<double>(NowNs() - start_) / 1e3; }
  double ms() const { return us() / 1e3; }
  double seconds() const { return us() / 1e6; }

 private:
  uint64_t start_ = NowNs();
};

}  // namespace tutti::gpu
