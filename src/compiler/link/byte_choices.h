// prmt.b32 with a selector that is not known: the processor's shuffle of bytes.
//
// PSHUFB takes bytes from anywhere within 16. So the digits of a lane's selector become bytes, and with four times the lane's
// number added to them one shuffle picks from a and one from b.
#pragma once

namespace llvm {
class Module;
}

namespace tutti::compiler {

struct HostTarget;

// Replaces the body of the runtime's function, if the module has it.
void UseByteChoices(llvm::Module& module, const HostTarget& target);

}  // namespace tutti::compiler
