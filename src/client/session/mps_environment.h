// The MPS settings in the environment of this process and its contexts. Read when cuInit attaches and when a context is
// created, never in a constructor, since programs set these variables in main.
//
// The raw text goes to the daemon, which decides. The client itself reports an unreadable value, once, with the value
// that applies instead, since the program's user does not read the daemon's log.
#pragma once

#include "client/base/answer.h"
#include "wire/channel_layout.h"
#include "wire/messages.h"

namespace tutti::client {

// Fills in the limits of a Hello; unreadable ones are left out. If percentages are per context, the process has none.
void AskForLimits(wire::Hello* hello);

// After the attach: reports memory limits that name no device or exceed what the server grants.
void CheckMemoryLimits(const wire::ChannelHeader& header);

// CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING=1, as it was when AskForLimits was called. Thread-safe.
bool PercentagePerContext();
// The current value of CUDA_MPS_ACTIVE_THREAD_PERCENTAGE; 100 if it is unset or unreadable.
double ContextPercentage();

}  // namespace tutti::client
