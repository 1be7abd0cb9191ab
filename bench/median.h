// Timing of calls that take so long that a benchmark repeats them only a few times.
#pragma once

#include <algorithm>
#include <functional>

#include "report.h"
#include "timing.h"

namespace bench {

// Median time of one call of `body`, in ms: calls for about 300 ms, 7 to 200 times, after two calls to warm up.
inline double MedianMs(const std::function<void()>& body) {
  body();
  const double once_ms = TimeEach(1, body)[0] / 1e6;
  std::vector<double> samples = TimeEach(static_cast<size_t>(std::min(200.0, std::max(7.0, 300 / once_ms))), body);
  return Summarize(samples).median / 1e6;
}

}  // namespace bench
