// What the lying driver is told to do, by the variable TUTTI_GPU_LIE: rows with commas between, each
//
//   SYMBOL=ACTION[@N]    the N-th call of SYMBOL in a process, or each one, does not do what it should:
//     fail:CODE    returns CODE and does nothing
//     hang         does not return
//     exit:STATUS  ends the process
//     late:MS      does what it should, so many milliseconds later
//     escape       returns which attempt to reach beyond its process was not refused (vendor_fault/escape.h), as an
//                  error, or does what it should
//     answer:N     does what it should and answers N: the compute mode of cuDeviceGetAttribute (for executors any
//                  attribute), the bytes of cuMemGetAllocationGranularity, the free bytes of cuMemGetInfo_v2
//
// The driver that does the work is named by TUTTI_GPU_LIE_DRIVER.
#pragma once

#include <optional>
#include <string>

namespace tutti::gpu {

struct Lie {
  std::string action;
  long number = 0;
};

// Of this call. Thread-safe.
std::optional<Lie> LieFor(const char* symbol);
// The function of the driver that does the work; null if it has none.
void* TrueFunction(const char* symbol);

}  // namespace tutti::gpu
