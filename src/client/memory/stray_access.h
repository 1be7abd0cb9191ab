// Host code that uses a device pointer, as it may not on a GPU. Where this process does not reach the device's memory
// (TUTTI_CPU_REACHABLE=0) such an access is a SIGSEGV, and a line on stderr says before it which memory it was.
#pragma once

namespace tutti::client {

// Installs the handler if some of the window is not reached, once; whatever handled the signal before does so
// afterwards. A handler that the program installs later takes its place. Thread-safe.
void ReportStrayAccesses();

}  // namespace tutti::client
