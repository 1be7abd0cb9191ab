// The out-of-line functions that the checks of a fenced module call, as PTX text.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::compiler::fencing {

inline constexpr const char* kCheckFunction = "__tutti_check";
inline constexpr const char* kFaultFunction = "__tutti_fault";
inline constexpr const char* kPollFunction = "__tutti_poll";
inline constexpr const char* kVariableTable = "__tutti_variables";
inline constexpr const char* kDynamicShared = "__tutti_dynamic_shared";

// Of an address of shared memory: which block of the cluster it lies in. Each has what is its own from there on.
inline constexpr uint64_t kSharedBlockMask = 0xff000000;

// Of a row of the table: address, bytes, and whether it may only be read.
inline constexpr uint32_t kTableRowBytes = 24;

// What an access is, as __tutti_check takes it: the region, and
inline constexpr uint32_t kWriteBit = 1u << 3;
inline constexpr uint32_t kAlignShift = 8;

// What a generic address of the module may refer to besides the client's window.
struct Meanings {
  uint32_t variables = 0;   // rows of the table
  bool shared = false;      // the module has shared memory
  bool local = false;       // it has local variables
  bool parameters = false;  // it takes addresses of kernel parameters
  bool workspace = false;   // it reads %envreg1: cooperative groups
  bool prints = false;  // its kernels print, or say what they assert, to the fence's own FIFO
  bool begins = false;  // its kernels say that they begin, and look whether they may
  bool full = false;  // its constants leave no room for the fence's own, which then are in global memory
};

// What is out of line in such a module.
std::string CheckFunctions(const Meanings& meanings);

// Parts of functions as text, in which kOwnSpace stands for the space where the fence's variables are. Both take
// registers: `%rd1` an address, `%rd2` bytes from there on, `%r1` the kind of access, `%r2` its region: generic or
// global. `%p1` to `%p4`, `%r3` to `%r5` and `%rd4` to `%rd16` are scratch.
inline constexpr const char* kOwnSpace = "OWN";
// Goes to LEGAL if all of it is the client's, else to ILLEGAL, or on. Needs parameters `low` and `high`, the bounds of
// local memory.
std::string AddressLookup(const Meanings& meanings);
// Writes the record of a fault if it is the first, and ends the thread. `%r6`: the kind of fault, `%r8`: the function,
// `%r9`: the line. `%p1`, `%r10`, `%rd18` and `%rd19` are scratch.
std::string FaultRecord();

}  // namespace tutti::compiler::fencing
