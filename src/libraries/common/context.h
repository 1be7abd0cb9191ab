// The context in which a library works: the thread's current one, as with the vendor's libraries.
#pragma once

#include "libraries/common/driver.h"

namespace tutti::libraries {

// Makes sure that the thread has a current context: a program that has called nothing of CUDA yet gets the primary
// context of device 0, as the runtime would give it.
CUresult EnsureContext();

// Whether work submitted to the stream now is recorded into a graph.
bool IsCapturing(CUstream stream);

}  // namespace tutti::libraries
