// Whether the devices that programs get here load machine code, or PTX alone.
#pragma once

namespace tutti::cli {

// Asks the daemon of CUDA_MPS_PIPE_DIRECTORY, which may have to start a server to know; without one, what a private
// server would be told by TUTTI_DEVICE. False where nobody says it.
bool DevicesLoadMachineCode();

}  // namespace tutti::cli
