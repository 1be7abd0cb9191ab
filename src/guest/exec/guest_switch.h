// Switching stacks, in assembly (guest_switch.S).
//
// A context that is not running is one pointer: its stack pointer, with the callee-saved registers on top of the stack.
//
// The floating-point and direction control state (MXCSR, the x87 control word, the direction flag) is not part of it:
// all our own code runs with a new thread's values, and every context has them when it switches. Kernels comply at
// every service, since they change MXCSR only around single operations (compiler/runtime/directed_rounding.cc). Only a
// signal can interrupt such an operation, and both ways out of a handler deal with it: tutti_guest_preempted saves the
// guest's values and loads a new thread's; a handler that abandons the guest writes these into the signal's frame
// (guest_fault.cc).
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Saves the running context, stores its stack pointer in *save, and resumes the context `load`.
void tutti_guest_switch(void** save, void* load);

// Not functions to call but places to resume at, for signal handlers that rewrite the interrupted context. With the
// stack pointer of a saved context: resumes it.
void tutti_guest_resume();
// With the interrupted instruction's address pushed below the red zone: saves every register, calls tutti_guest_preempt
// with a new thread's control state, and resumes the interrupted instruction when that returns.
void tutti_guest_preempted();
// Switches to the worker; returns when the guest is resumed. (guest_thread.cc)
void tutti_guest_preempt();

// Where a new context starts: calls r13(r12), which must not return.
void tutti_guest_entry();
}

namespace tutti::guest {

// The control state of a new thread: all exceptions masked, round to nearest, no flushing; x87 with 64 bits.
inline constexpr uint32_t kNewThreadMxcsr = 0x1f80;
inline constexpr uint16_t kNewThreadX87Control = 0x37f;

// Stack that a preempted context needs below the interrupted stack pointer: red zone, registers, vector state, frames.
inline constexpr size_t kPreemptBytes = 8 << 10;

// A new context on the stack that ends at `top` (16-byte aligned): switching to it calls entry(argument).
inline void* NewContext(uint8_t* top, void (*entry)(void*), void* argument) {
  auto* frame = reinterpret_cast<uint64_t*>(top) - 9;  // leaves the stack aligned for the call
  frame[0] = 0;  // r15
  frame[1] = 0;  // r14
  frame[2] = reinterpret_cast<uint64_t>(entry);  // r13
  frame[3] = reinterpret_cast<uint64_t>(argument);  // r12
  frame[4] = 0;  // rbx
  frame[5] = 0;  // rbp
  frame[6] = reinterpret_cast<uint64_t>(&tutti_guest_entry);  // return address
  return frame;
}

}  // namespace tutti::guest
