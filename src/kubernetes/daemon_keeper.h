// Keeps a control daemon running for this node's containers: adopts a running one in the pipe directory or starts one
// (or, if others start it, waits for it), sets the configured defaults, monitors it, and restarts it when it ends. It
// updates the device table: all devices are unhealthy from the daemon's death until its successor reports them, and
// while it does not answer.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "control/places.h"
#include "control/report.h"
#include "kubernetes/claim_book.h"
#include "kubernetes/device_table.h"
#include "sharing/config.h"

namespace tutti::kubernetes {

class DaemonKeeper {
 public:
  // `program` is the control daemon's path. CUDA_MPS_PIPE_DIRECTORY and CUDA_MPS_LOG_DIRECTORY of this process must say
  // what `places` says. A daemon that does not answer within `patience_ms` counts as hung; answers take milliseconds
  // unless the machine is overloaded. Table and claims must outlive the keeper.
  DaemonKeeper(control::Places places, std::string program, int patience_ms, DeviceTable& table, ClaimBook& claims);
  ~DaemonKeeper();  // leaves the daemon running, since pods use it

  // Thread-safe. Applies the configuration to the daemon, now and after each restart. The first call starts the keeper,
  // since the configuration determines how a daemon is started.
  void Configure(sharing::Config config);

  // Called after each poll of the daemon, from the keeper's thread. Set it before Configure.
  using Look = std::function<void(control::DaemonConnection&, const control::Report&)>;
  void AfterEachLook(Look look);

  // The daemon's last answer; nothing while there is no daemon. Thread-safe.
  std::optional<control::Report> LastReport() const;
  // The number of daemons so far, including an adopted one.
  uint64_t daemons() const { return daemons_; }
  // Why there is no daemon; empty if there is one. Thread-safe.
  std::string Trouble() const;

 private:
  void Run();
  Status KeepOne();
  Result<int> LookAt(control::DaemonConnection& daemon);
  void NoteTrouble(const std::string& why);
  bool MayStart() const;
  Status StartDaemon();
  Status Tell(control::DaemonConnection& daemon, const control::Report& report);
  Result<control::Report> TakeReport(control::DaemonConnection& daemon);
  bool Wait(int process, int milliseconds);  // true: the process has ended, or the keeper is to stop

  const control::Places places_;
  const std::string program_;
  const int patience_ms_;
  DeviceTable& table_;
  ClaimBook& claims_;

  mutable std::mutex mutex_;  // guards the next five
  sharing::Config config_;
  bool told_ = false;
  Look after_look_;
  std::optional<control::Report> report_;
  std::string trouble_ = "not started yet";

  int deviceless_looks_ = 0;  // consecutive; this and the next for the keeper's thread only
  pid_t last_daemon_ = 0;
  std::atomic<uint64_t> daemons_ = 0;
  os::Fd stop_;  // eventfd
  std::thread thread_;
};

// The commands that set the defaults for `report`'s devices and running servers.
std::vector<std::string> DefaultCommands(const sharing::Config& config, const control::Report& report);

// The devices of the daemon's servers, as the report of user `uid`'s server has them.
std::vector<sharing::DeviceFacts> DevicesOf(const control::Report& report, uint32_t uid);

}  // namespace tutti::kubernetes
