// What processes that use a daemon, or none, cost the machine: they, and all that serve them.
#pragma once

#include <cstdint>

namespace bench {

// From here on the calling process, and what it starts, uses no daemon: each program starts a server of its own. For a
// child that has not yet begun its program.
void ForgetDaemon();

struct Usage {
  uint64_t processes = 0;
  uint64_t proportional_bytes = 0;  // proportional set size: what several share counts once, in parts
  uint64_t switches = 0;            // of their threads, since those began
};

// Of all programs of this build that use this process's daemon, daemon and servers included, or that use none
// (ForgetDaemon), servers included; this process aside. Ends the program if there is none: it may not see them.
Usage UsageOf(bool without_daemon);

// A server keeps its compilers for some seconds, though their memory is nothing that a program needs.
void AwaitEndOfCompilers();

}  // namespace bench
