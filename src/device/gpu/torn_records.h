// What a client's streams had of an executor that has ended: whether it may be given again to another one.
//
// What is done is done: it is marked, or something that waited for it is. What the driver has not been given is given
// again as it is. Of what lies between nobody knows whether it was done, in part or at all, and it is done once more:
//
//   waits, and what is done by nobody (events, marks)   nothing is lost by that; an event's time is the later one
//   copies and fills   end as they would have, all of them in their order, unless one reads what itself or a later one
//                      writes; or a kernel has ended in another stream since they were given, which may have waited for
//                      what they write, and gone on
//   kernels            are not: nothing says what they read and write
//
// A program that learns of a copy's end otherwise than from the driver (its own thread polls the memory) may see it
// done twice.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "device/gpu/gpu_operation.h"

namespace tutti::device::gpu {

struct LeftRecord {
  Operation* operation = nullptr;  // a task, a wait, or an event with a time
  bool may_have_begun = false;
  bool others_went_on = false;  // a kernel of another stream has ended since it was given
  uint64_t order = 0;
};

// Why records, in the order in which they were given, must not be given again; nothing: they may be.
struct Torn {
  std::string why;
  bool by_kernel = false;
};
std::optional<Torn> FindTorn(std::span<const LeftRecord> records);

}  // namespace tutti::device::gpu
