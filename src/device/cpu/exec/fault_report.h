// Translates a fault into the client's CUresult and into a report for people.
#pragma once

#include "device/fault.h"
#include "guest/exec/block_run.h"

namespace tutti::device::cpu {

// `run` was left for it. As one line: "illegal address 0x... in kernel k, block (0,0,0), thread (1,0,0)".
Fault DescribeFault(const guest::BlockRun& run, const guest::FaultRecord& record);

}  // namespace tutti::device::cpu
