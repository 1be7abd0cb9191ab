// The server's side of one client: its channel, its window, its space on the device, its socket. The session owns all
// of it.
//
// Threads: the ring (WatchedRing) belongs to whichever thread holds its lock in RingWatch; OnReadable, SetLimits,
// Status and End to the server's main thread; module loads, kernel preparation and resets run on the loaders, each
// holding a reference to the session. So does the reaper that destroys it.
//
// A client that breaks the protocol ends its own session: the reason is logged, `ended` is set, the socket is closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log_budget.h"
#include "device/device.h"
#include "ipc/message.h"
#include "ipc/ring_consumer.h"
#include "os/close_aside.h"
#include "os/fd.h"
#include "os/memory.h"
#include "server/channel_sink.h"
#include "server/departures.h"
#include "server/descriptor_takers.h"
#include "server/export_table.h"
#include "server/fault_log.h"
#include "server/ring_watch.h"
#include "server/worker_pool.h"
#include "wire/server_messages.h"

namespace tutti::server {

struct ClientInfo {
  uint32_t id = 0;  // ours
  uint32_t pid = 0;
  uint32_t uid = 0;
  uint64_t pid_namespace = 0;
  std::string command_line;
  std::string name_space;
  double own_percentage = 100;  // asked for by the client, as own_limits: only repeated to the daemon
  std::vector<wire::MemoryLimit> own_limits = {};
  std::string party = {};  // whose quota it counts against; "": the owner's
  uint32_t withheld_devices = 0;  // bit per device: the client may not use it
  bool own_priority = false;  // asked for by the client, or set for it alone
  wire::MemorySharing sharing = wire::MemorySharing::kSameUser;

  // The party whose log budget pays for lines about it.
  std::string payer() const { return party.empty() ? "user " + std::to_string(uid) : party; }
};

class Session;

// What a session uses of its server. All outlive it.
struct SessionServices {
  device::Backend* backend = nullptr;
  RingWatch* watch = nullptr;
  WorkerPool* loaders = nullptr;
  DescriptorTakers* takers = nullptr;
  FaultLog* faults = nullptr;
  ExportTable* exports = nullptr;
  LogBudget* log = nullptr;
  bool shared_server = false;
  // Turns reading of the session's socket on or off. Main thread only.
  std::function<void(uint32_t id, bool listen)> listen;
  // Has the main thread run `work` unless the session has ended by then; if `work` fails, the session ends.
  // Thread-safe.
  std::function<void(uint32_t id, std::function<Status(Session&)> work)> post;
  // The session cannot go on. Called once, from any thread, with its ring's lock held or not.
  std::function<void(uint32_t id, std::string reason)> broken;
  // Memory in use on `device` has changed.
  std::function<void(uint32_t device)> memory_changed;
  // A client lacks memory: waits for clients that are being torn down, or terminates one that has borrowed it.
  // `done` is called once, on the main thread: true when it is worth another try, false if there is no such client. Not
  // at all if the session has ended by then; what it holds must not keep the session, which nobody else may tear down.
  std::function<void(const Departures::Refused& refused, std::function<void(bool)> done)> make_room;
};

class Session final : public WatchedRing, public std::enable_shared_from_this<Session> {
 public:
  static Result<std::shared_ptr<Session>> Create(const SessionServices& services, ClientInfo info,
                                                 device::Limits limits, std::shared_ptr<os::StrangersFd> socket);
  ~Session() override;

  // Starts to watch the ring and sends the Welcome.
  Status Begin();
  // Handles a message. Fails if the client has closed (empty text) or broken the protocol; then call End.
  Status OnReadable();
  // Stops all use of the ring and wakes the client's threads with `status`; 0 if the client is gone.
  void End(int32_t status);

  // Has the destructor call `gone` when all of the client's memory is free. Before the last reference goes.
  void SetGone(std::function<void()> gone) { gone_ = std::move(gone); }
  // After End: drops the client's work, so that it holds up nobody while the session is torn down.
  void Abandon() { space_->Abandon(); }

  void SetLimits(const device::Limits& limits);
  const device::Limits& limits() const { return limits_; }
  void SetUsed(uint32_t device, uint64_t bytes) {
    if (!IsWithheld(device)) sink_->SetUsed(device, bytes);
  }
  // One entry per device it uses (the first device if it uses none).
  std::vector<wire::ClientStatus> Describe();
  // Its running kernels on all devices (running_kernels.h).
  std::vector<std::string> RunningLines();
  void LogRunning();

  uint64_t memory_bytes(uint32_t device) const { return sink_->memory_bytes(device); }

  const ClientInfo& info() const { return info_; }
  // Its priority has been set individually: defaults no longer apply.
  void KeepPriority() { info_.own_priority = true; }
  int socket() const { return socket_->get(); }
  const std::shared_ptr<os::StrangersFd>& connection() const { return socket_; }
  int pidfd() const { return pidfd_.get(); }  // -1: unavailable

  // WatchedRing
  void Added(uint32_t number) override { watch_number_ = number; }
  bool Consume() override;
  bool Peek() override;
  void SetBell(wire::Doorbell state) override;
  int doorbell_fd() const override { return doorbell_.get(); }

 private:
  Session(const SessionServices& services, ClientInfo info, device::Limits limits,
          std::shared_ptr<os::StrangersFd> socket);

  ChannelSink::Hooks SinkHooks();
  void FillChannel();
  double ShareOf(uint32_t device, uint64_t now_ns);
  void ForEachRunning(const std::function<void(uint32_t, const device::Space::RunningKernel&)>& visit);
  void PublishLimits();

  bool IsWithheld(uint32_t device) const { return device < 32 && (info_.withheld_devices >> device & 1) != 0; }
  // Fails if a device that a record names is withheld from this client.
  Status MayUse(uint32_t device) const;

  // session_records.cc: ring's lock held, or the ring paused.
  Status Handle(const wire::Untrusted<wire::RawRecord>& record);
  Status HandleAside(const wire::Untrusted<wire::RawRecord>& record);
  Status Execute(const wire::Untrusted<wire::RawRecord>& record);
  Status HandleLaunch(const wire::Untrusted<wire::RawRecord>& record);
  void LaunchWhenLoaded(uint32_t stream, uint64_t ticket, const device::Grid& grid);
  Status HandleConditional(const wire::Untrusted<wire::RawRecord>& untrusted);
  Status HandleGraph(const wire::Untrusted<wire::RawRecord>& untrusted);
  Status HandleGraphUpload(const wire::Untrusted<wire::RawRecord>& untrusted);
  Status HandleStreamCreate(const wire::Untrusted<wire::RawRecord>& record);
  Status HandleHostCall(const wire::Untrusted<wire::RawRecord>& record);
  Status HandleMemoryUse(const wire::Untrusted<wire::RawRecord>& record);
  Status HandleAllocate(const wire::Untrusted<wire::RawRecord>& record);
  Status HandleContextLimit(const wire::Untrusted<wire::RawRecord>& record);
  Status HandleKernelLimit(const wire::Untrusted<wire::RawRecord>& record);
  Status HandleHeapLimit(const wire::Untrusted<wire::RawRecord>& record);
  // Replies with the address, or, where memory lacks, when there is room.
  using Allocation = std::function<Result<uint64_t>()>;
  void Allocate(const Allocation& allocate, uint16_t reply, uint32_t device, uint64_t bytes, bool on_device);
  void AllocateWithRoom(const Allocation& allocate, uint16_t reply, const Departures::Refused& refused,
                        const Error& refusal);
  void OnLoader(std::function<void()> work);
  // No records are taken until Resume has been called as often.
  void Pause() { pauses_.fetch_add(1, std::memory_order_acq_rel); }
  void Resume();
  bool paused() const { return pauses_.load(std::memory_order_acquire) != 0; }
  Status HandlePrepare(const wire::Untrusted<wire::RawRecord>& record);
  Status HandleOccupancy(const wire::Untrusted<wire::RawRecord>& untrusted);
  Status HandleReset(const wire::Untrusted<wire::RawRecord>& record);
  void Break(std::string reason);

  // session_arrays.cc
  Status HandleArrays(const wire::Untrusted<wire::RawRecord>& untrusted);

  // session_sharing.cc
  struct Import {
    std::shared_ptr<device::SharedMemory> memory;
    bool made_here = false;  // by kHostMemory
  };
  ExportTable::Client AsSharer() const;
  Status HandleSharing(const wire::Untrusted<wire::RawRecord>& record);
  Status HandleMap(const wire::MapBody& body);
  Result<std::shared_ptr<device::SharedMemory>> ToExport(const wire::ExportBody& body);
  std::optional<Import> FindImport(uint64_t number);
  uint64_t Keep(Import import);
  bool HoldsManyImports();
  Status HandleDescribeMemory(const ipc::Envelope& envelope);
  Status HandleHostMemoryFile(const ipc::Envelope& envelope);
  Status HandleImportFile(ipc::Envelope envelope);

  // session_calls.cc
  void RefuseFiles(wire::MessageHead head, ipc::InTheWay in_the_way);
  Status HandleLoadModule(ipc::Envelope envelope);
  void LoadModule(uint32_t serial, uint32_t device, const os::Mapping& image);
  Status HandleQueryModule(const ipc::Envelope& envelope);
  void Answer(wire::MessageKind kind, uint32_t serial, ByteWriter body, std::span<const int> fds = {});
  void KeepPrepareLog(uint32_t module, uint32_t function, std::string text);

  bool over() const { return over_.load(std::memory_order_acquire); }

  SessionServices services_;
  ClientInfo info_;
  device::Limits limits_;  // main thread only
  // shared: a thread that refuses the client or takes a message with descriptors may outlive the session
  const std::shared_ptr<os::StrangersFd> socket_;
  os::Fd pidfd_;
  os::Fd doorbell_;
  os::Fd channel_fd_;  // until the Welcome has been sent
  os::Mapping channel_mapping_;
  os::Fd completions_fd_;  // until then, too
  os::Mapping completions_mapping_;
  wire::Channel* channel_ = nullptr;
  std::unique_ptr<ChannelSink> sink_;
  std::unique_ptr<ipc::RingConsumer> consumer_;
  uint32_t watch_number_ = 0;
  bool watched_ = false;

  std::function<void()> gone_;
  std::atomic<bool> over_{false};
  std::atomic<uint32_t> pauses_{0};  // by records that are done on loaders
  std::atomic<uint32_t> devices_used_{0};  // bit per device
  std::atomic<uint32_t> calls_{0};  // socket requests in progress

  std::mutex logs_mutex_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> prepare_logs_;

  // For the share of `ps`: usage at the last report that is old enough.
  struct Sample {
    uint64_t taken_ns = 0;
    uint64_t busy_ns = 0;
    double share = 0;
  };
  Sample samples_[wire::kMaxDevices];

  std::mutex imports_mutex_;
  std::map<uint64_t, Import> imports_;  // by number
  uint64_t last_import_ = 0;  // the ring's lock

  std::unique_ptr<device::Space> space_;  // last: destroyed first, it still reports to the sink
};

}  // namespace tutti::server
