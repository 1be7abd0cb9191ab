// The processor's cores.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

namespace tutti::os {

// In the affinity mask of this process's first thread; 1 if the system does not say. One system call, where sysconf
// reads files.
uint32_t CoresOfThisProcess();

// The core that the calling thread runs on; negative if the system does not say.
int CoreOfThisThread();

// Moves a thread of this process (0: the calling one) that runs, or waits for a core, to one that it may use and that
// is none of `taken`; one that sleeps stays where it is. It may use the same cores as before afterwards, and those that
// come later if nobody has restricted it. False if there is none, or no such thread. Four system calls, five for one
// that is restricted; for the calling thread also the way to the other core.
bool MoveThread(pid_t thread, std::span<const int> taken);

// Others move the calling thread from now on. So a thread that it starts (os/thread.h) does not keep what it may use at
// that moment, but may use what this process's first thread may.
void ExpectMoves();
bool ExpectsMoves();
void UseCoresOfThisProcess();

}  // namespace tutti::os
