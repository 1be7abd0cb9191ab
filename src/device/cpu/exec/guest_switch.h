// Changing stacks, in assembly (guest_switch.S).
//
// A context that is not running is one pointer: its stack pointer, with the callee-saved registers on top of the stack.
//
// How the processor computes (MXCSR, the x87 control word, the direction flag) is no part of that: all our own code
// runs, and every context gives way, with the values of a new thread. Kernels keep to that at every service, for they
// change MXCSR only around single operations (compiler/runtime/directed_rounding.cc). Only a signal can take a thread
// away in between, and both ways out of a handler see to it: tutti_guest_preempted saves the guest's values for the
// guest and loads a new thread's; a handler that abandons the guest writes these into the signal's frame
// (guest_fault.cc).
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Saves the running context, stores its stack pointer in *save, and goes on with the context `load`.
void tutti_guest_switch(void** save, void* load);

// Not functions to call but places to continue at, for signal handlers that rewrite the interrupted context:
// with the stack pointer of a saved context: goes on with it.
void tutti_guest_resume();
// With the interrupted instruction's address pushed below the red zone: saves every register, calls
// tutti_guest_preempt as a new thread would, and goes on with the interrupted instruction when that returns.
void tutti_guest_preempted();
// Switches to the worker; returns when the guest is resumed. (guest_thread.cc)
void tutti_guest_preempt();

// Where a new context starts: calls r13(r12), which must not return.
void tutti_guest_entry();
}

namespace tutti::device::cpu {

// What a new thread computes with: all exceptions masked, rounding to nearest, no flushing; x87 with 64 bits.
inline constexpr uint32_t kNewThreadMxcsr = 0x1f80;
inline constexpr uint16_t kNewThreadX87Control = 0x37f;

// Bytes that a preempted context needs below the interrupted stack pointer: red zone, registers, vector state, frames.
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

}  // namespace tutti::device::cpu
