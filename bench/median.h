// The time of what takes long enough to be repeated a few times only.
#pragma once

#include <algorithm>
#include <functional>

#include "report.h"
#include "timing.h"

namespace bench {

// Median, in ms, of calls of `body` in about 300 ms: 7 to 200 of them, after two that are not counted.
inline double MedianMs(const std::function<void()>& body) {
  body();
  const double once_ms = TimeEach(1, body)[0] / 1e6;
  std::vector<double> samples = TimeEach(static_cast<size_t>(std::min(200.0, std::max(7.0, 300 / once_ms))), body);
  return Summarize(samples).median / 1e6;
}

}  // namespace bench
