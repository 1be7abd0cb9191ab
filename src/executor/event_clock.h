// When events of the vendor's driver were reached, on the clock of NowNs. A driver tells the time between two events,
// by the device's clock, as a float of milliseconds.
//
// Times are told from a *base*, the last event but some. It is renewed twice a second: a float is exact to 30 ns for
// that long, and to a millisecond after hours. So what lies between two times is the device's, as CUDA programs expect.
//
// Where the two clocks part, the device's is led back to ours, which has seen that each event was reached after it was
// recorded and before it was found to be: by a ten-thousandth of the time that passes, or at once where nothing was
// timed for long. So times of different executors can be compared, with the error of ours at their first events: how
// long it took to find that these were reached.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "executor/vendor.h"

namespace tutti::executor {

// Of one thread, in which the context is current.
class EventClock {
 public:
  explicit EventClock(const Vendor& vendor) : vendor_(vendor) {}

  // An event with a time.
  Result<cuda::CUevent> Take();
  // When it was reached: it has been, after it was recorded and before it was seen. It is given back.
  Result<uint64_t> Read(cuda::CUevent event, uint64_t recorded_ns, uint64_t seen_ns);
  void GiveBack(cuda::CUevent event) { free_.push_back(event); }
  // Destroys those that it has.
  Status Close();

 private:
  // Nanoseconds from the base to the event, as the driver says.
  Result<double> PassedNs(cuda::CUevent event) const;
  void Rebase(cuda::CUevent event, uint64_t reached_ns, int64_t error_ns);

  const Vendor& vendor_;
  std::vector<cuda::CUevent> free_;
  cuda::CUevent base_ = nullptr;
  uint64_t base_ns_ = 0;
  double correction_ns_ = 0;  // to be made in the second behind the base
};

}  // namespace tutti::executor
