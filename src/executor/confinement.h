// The executor's sandbox. Kernels of its client write what its driver has mapped, so it may come to do what the client
// likes; then it should find few rights. All restrictions are permanent. Each is a no-op in a build with a sanitizer.
//
// What a driver needs is not ours to say, so these only deny what reaches beyond the process, and come as late as they
// can: it opens its devices, names its sockets and starts its threads with its context. It loads its compiler, makes
// threads, keeps its cache and opens devices later, too.
//
// A driver that does not survive one of them can be had without: TUTTI_EXECUTORS_UNCONFINED names what is left out,
// with commas between: `memory`, `domain`, `filter` (in the order of what is below). What that is the server logs.
#pragma once

#include "base/error.h"

namespace tutti::executor {

// An error that names the words of TUTTI_EXECUTORS_UNCONFINED that are none of these, and leave nothing out.
Status CheckWhatIsLeftOut();

// Nobody traces this process or reads its memory. First of all.
Status HideMemory();

// A domain (os/confinement/domain.h). Before the driver has threads, which it holds only if they come later: cuInit.
// The vendor's driver writes to devices and to its cache. Ours, as in tests, has a server of its own, which writes
// where it likes.
Status EnterDomain(bool driver_is_ours);

// A filter of system calls in all threads (os/confinement/call_filter.h), which also denies new connections: other
// processes of the user could be asked to act. When the driver has its context.
Status FilterSystemCalls();

}  // namespace tutti::executor
