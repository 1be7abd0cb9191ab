// A seccomp filter for a process that may be taken over by code of others: system calls that reach beyond the process
// fail with EPERM, and all others stay.
//
// It is a deny-list. An allow-list would be easier to reason about, but such a process runs code that is not ours
// (libc, LLVM, NSS modules, a vendor's driver), on kernels newer than this list: one missing call would end every
// client's work. Denied is what turns a compromised process into more than that process: new processes and programs,
// other processes' memory, signals to them, other namespaces and mounts, the kernel's own interfaces, and the network.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"

namespace tutti::os {

// Refused where the bits in `mask` of an argument are those of `value`, or where the whole argument is not `value`
// (`equal` false); and, if `also_mask` is not 0, where those bits of another argument are set, too.
struct RefusedCall {
  int number = 0;
  uint32_t argument = 0;
  bool equal = false;
  uint64_t mask = 0;
  uint64_t value = 0;
  uint32_t also_argument = 0;
  uint64_t also_mask = 0;
};

constexpr RefusedCall RefuseWhere(int number, uint32_t argument, uint64_t mask, uint64_t value) {
  return {.number = number, .argument = argument, .equal = true, .mask = mask, .value = value};
}
constexpr RefusedCall RefuseUnless(int number, uint32_t argument, uint64_t value) {
  return {.number = number, .argument = argument, .equal = false, .value = value};
}

// Installs the filter in all threads, for good; also sets NO_NEW_PRIVS. `more`: calls that are refused, too. From then
// on the process can start no process or program and signal none. Fails without seccomp.
//
// A no-op in sanitizer builds, whose run-time inspects its own process.
Status FilterCalls(std::span<const int> more, std::span<const RefusedCall> more_by_argument = {});

// What FilterCalls refuses whatever the arguments are.
std::span<const int> CallsThatReachOut();

}  // namespace tutti::os
