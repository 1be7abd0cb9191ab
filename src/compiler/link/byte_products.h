// Products of matrices of bytes by the processor's own dot products (AVX-512 VNNI, AVX-VNNI).
//
// The guest runtime multiplies such matrices (runtime/matrix.cc) a number of each lane at a time, on any processor. One
// instruction of these multiplies four bytes of each lane and adds them up, and four bytes next to each other along the
// depth are what each lane has in a register. It takes bytes of the one factor as unsigned, of the other as signed.
#pragma once

namespace llvm {
class Module;
}

namespace tutti::compiler {

struct HostTarget;

// Replaces the bodies of the runtime's functions that the module has, where the processor has such instructions.
void UseByteProducts(llvm::Module& module, const HostTarget& target);

}  // namespace tutti::compiler
