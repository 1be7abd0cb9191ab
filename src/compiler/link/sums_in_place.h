// Sums of matrix products stay where they are.
//
// A tile of a product is a chain: each multiplication takes the sums of the one before it, and a loop takes them on.
// The multiplications are calls, which no vector register outlives, and the sums of a tile are more than all registers
// have room for. As values they are stored as arguments, stored as results, and stored as what lives across the next
// call: 24 registers a call where the multiplication of 8 x 8 doubles itself takes 32 instructions. In place each has
// room of its own on the stack, the call is given addresses, and each register is stored once.
//
// A chain has such room if, wherever one of its values is used, nothing else was written there since. Values that live
// at the same time (sums that a loop exchanges, or that are used again behind the next product) stay as they were.
#pragma once

namespace llvm {
class Module;
}

namespace tutti::compiler {

// Of all calls of the guest runtime's matrix products (runtime/matrix.cc) whose bodies the module has.
void KeepSumsInPlace(llvm::Module& module);

}  // namespace tutti::compiler
