// Words of four bytes by the processor's instructions: choices (prmt.b32 by a selector that is not known) and dot
// products (dp4a).
//
// PSHUFB takes bytes from anywhere within 16. So the digits of a lane's selector become bytes, and with four times the
// lane's number added to them one shuffle picks from a and one from b. PMADDWD adds up two products of 16-bit numbers,
// into which the even and the odd bytes are extended; VPDPBUSD (VNNI) does all of dp4a with bytes of which the one is
// unsigned.
#pragma once

namespace llvm {
class Module;
}

namespace tutti::compiler {

struct HostTarget;

// Replaces the bodies of the runtime's functions (runtime/bytes.cc) that the module has.
void UseByteWords(llvm::Module& module, const HostTarget& target);

}  // namespace tutti::compiler
