// What the environment asks of MPS for this process and its contexts. Read when cuInit attaches and when a context is
// created, never in a constructor: programs set these variables in main.
//
// The raw text goes to the daemon, which decides. A value that cannot be read is named here, once, with what holds
// instead: the daemon's log is not where the program's user looks.
#pragma once

#include "client/base/answer.h"
#include "wire/channel_layout.h"
#include "wire/messages.h"

namespace tutti::client {

// Fills in the limits of a Hello; unreadable ones are left out. With a percentage per context there is none of the
// process.
void AskForLimits(wire::Hello* hello);

// After the attach: says which memory limits name no device, and which are above what the server gives.
void CheckMemoryLimits(const wire::ChannelHeader& header);

// CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING=1, as it was when AskForLimits was called. Thread-safe.
bool PercentagePerContext();
// What CUDA_MPS_ACTIVE_THREAD_PERCENTAGE says now; 100 if it is not set or unreadable.
double ContextPercentage();

}  // namespace tutti::client
