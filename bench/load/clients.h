// Client processes of a benchmark (load/client.cc), started together, and the server's counters for them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct ClientSpec {
  std::string arguments;                   // "hog 2 500 8"
  double percentage = 100;                 // CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
  bool below_normal = false;               // CUDA_MPS_CLIENT_PRIORITY=1
  bool without_daemon = false;             // it has a server of its own (load/usage.h)
  uint32_t uid = 0;  // runs as this user, whose server is another one; 0: the caller's. Needs root (MayBeOthers)
};

// Whether clients can run as other users: they find program and daemon.
bool MayBeOthers();

class Clients {
 public:
  // Starts them and waits until all are ready. Any failure ends the program.
  explicit Clients(const std::vector<ClientSpec>& specs);
  ~Clients();

  void Begin();
  // Sends a byte to one: the first starts it; one that faults pauses at the next, and resumes at the one after.
  void Tell(size_t client);
  // Ends them; returns what each has written.
  std::vector<std::string> End();
  // One counter (src/metrics/counters.def) of each.
  std::vector<uint64_t> Counter(const std::string& name) const;
  // The fraction of the device time of the next `seconds` that each gets.
  std::vector<double> SharesOver(double seconds) const;

 private:
  struct Process {
    pid_t pid;
    int to;
    FILE* from;
  };
  std::vector<Process> processes_;
};

void SetPolicy(const std::string& policy);
// SMs of the first device.
int SmCount();

}  // namespace bench
