// The resources that a server process holds, seen from outside: all must be back when its clients are gone.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::fault {

struct Holdings {
  size_t descriptors = 0;
  size_t threads = 0;  // except in pools that grow on demand up to a fixed size
  size_t memory_files = 0;   // mapped: clients' windows and channels; the heap may well have grown
  size_t resident_bytes = 0;

  // Nothing leaked in comparison; ignores memory in use.
  bool IsWithin(const Holdings& other) const {
    return descriptors <= other.descriptors && threads <= other.threads && memory_files <= other.memory_files;
  }
};

// All zero if there is no such process.
Holdings HoldingsOf(pid_t server);
// Clients' windows that the server has mapped.
size_t WindowsOf(pid_t server);
// The process id of the first server that the daemon in CUDA_MPS_PIPE_DIRECTORY lists; 0 if there is none.
pid_t FirstServer(const std::string& control);
// The process ids of the server's clients, as that daemon lists them.
std::vector<pid_t> ClientsOf(const std::string& control, pid_t server);

}  // namespace tutti::fault
