// What this process may see of the devices: its own share of each, and its own processes on them.
//
// With a daemon that is what the daemon says of the asking process (control commands `device_share` and `report`): the
// memory limit as the device's memory, the percentage as its SMs, the clients that the process may see and that have a
// process id here. An administrator of the machine sees the devices whole, and all clients. Without a daemon: the
// devices of a private server, under the limits of this process's environment, and no processes.
//
// On a GPU the vendor's library would answer what is not a share; that is to come, as another function that makes a
// View.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "control/compute_mode.h"
#include "control/report.h"

namespace tutti::nvml {

struct Device {
  std::string uuid;  // "GPU-..."
  std::string name;
  uint64_t total_bytes = 0;  // that one program may have
  uint32_t sm_count = 0;     // of the device
  double percentage = 100;   // of them, for a program
  unsigned compute_major = 0, compute_minor = 0;
  unsigned pci_domain = 0, pci_bus = 0, pci_device = 0;
  control::ComputeMode compute_mode = control::ComputeMode::kDefault;

  uint32_t given_sms() const;  // at least one, as the client library has it
  std::string BusId() const;   // "00000000:01:00.0"
};

// A process on a device.
struct Process {
  uint32_t pid = 0;  // here
  uint32_t device = 0;  // index in View::devices
  uint64_t used_bytes = 0;
  double share = 0;  // of the device's recent time, 0 .. 1
};

struct View {
  std::vector<Device> devices;
  std::vector<Process> processes;
  bool shared = false;         // there is a daemon
  bool administrator = false;  // may change what is everybody's
  uint64_t taken_us = 0;       // since the epoch

  uint64_t used_bytes(uint32_t device) const;  // at most the device's memory
  // Of the time that the device gives this process, 0 .. 1.
  double busy(uint32_t device) const;
};

// Asks the daemon; without one, a private server. Waits at most `patience_ms` for the daemon, all in
// all. Leaves nothing open. Thread-safe.
Result<View> Look(int patience_ms);

// The parts of it, for tests. The text is untrusted: values out of range are an error or a default, never a crash.
Result<View> ReadShares(const std::string& text);

// Who asks: which clients of a report have a process id that means something to this process.
struct Asker {
  uint64_t pid_namespace = 0;       // inode of its own
  bool in_daemons_namespace = false;  // the report's process ids are those of its own namespace
};
void AddProcesses(const control::Report& report, const Asker& asker, View& view);

}  // namespace tutti::nvml
