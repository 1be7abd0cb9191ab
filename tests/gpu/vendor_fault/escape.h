// What a driver might try that has been taken over by a kernel of its client.
#pragma once

namespace tutti::gpu {

// Tries to reach the process that has started this one, to run a program and to leave the machine. The number of the
// first of these that is not refused; 0: all are.
int Escape();

}  // namespace tutti::gpu
