// One SM: a thread that takes chunks of blocks from its device's scheduler, runs them on guest stacks, and polls the
// clients' rings while it has none.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "device/common/trace.h"
#include "device/cpu/exec/block_pool.h"
#include "device/cpu/idle_work.h"
#include "device/cpu/schedule/scheduler.h"
#include "device/cpu/sm_cores.h"
#include "device/cpu/stolen_time.h"
#include "guest/exec/guest_thread.h"

namespace tutti::device::cpu {

class Worker {
 public:
  // `device` and `sm` for names, numbers and traces; `number` is that of the SM in `cores`. It stays on `processors`;
  // none: on those of the process.
  Worker(uint32_t device, uint32_t sm, uint32_t nice, std::vector<int> processors, Scheduler* scheduler,
         BlockPool* pool, IdleShared* idle, SmCores* cores, uint32_t number);
  // Stops when it is next idle: no Space may be left. Ask all workers of a device, then wake its gate.
  void RequestStop();
  ~Worker();  // waits for it to have stopped

  TraceRing& trace() { return trace_; }

 private:
  void Loop();
  void RunChunk(const Chunk& chunk);
  void NoteHeld();
  uint64_t StolenFrom(const Chunk& chunk, uint64_t now_ns);
  ChunkResult RunBlocks(const Chunk& chunk);
  bool RunInOrder(const Chunk& chunk, Batch::Blocks piece, ChunkResult* result);
  bool PrepareBlock(const Chunk& chunk, uint64_t index);
  bool RunBlock(const Chunk& chunk, guest::BlockRun* run, ChunkResult* result);
  guest::LeaveReason RunThroughYields(const Chunk& chunk, guest::BlockRun* run, ChunkResult* result);
  void ReportFault(const Chunk& chunk, Fault fault);
  void ReportTimeLimit(const Chunk& chunk);
  static const guest::KernelDescriptor* CodeOf(const Chunk& chunk);
  static void Learn(const Chunk& chunk, const ChunkResult& result, const guest::KernelDescriptor* code);
  void Record(const Chunk& chunk, const ChunkResult& result);

  bool PollRings();
  void LookAway();
  void Idle(uint32_t seen, uint64_t retry_at_ns);
  void EndIdleness(uint64_t now_ns);
  void LearnIdleTime(uint64_t idle_ns);
  void LetOthersRun();
  // True if there may be something to do.
  bool Spin(uint32_t seen, uint64_t retry_at_ns);
  bool Drowse(uint32_t seen, uint64_t retry_at_ns);
  void ServeDoorbells();

  const uint32_t device_;
  const uint32_t sm_;
  const uint32_t nice_;
  const std::vector<int> processors_;
  Scheduler* const scheduler_;
  BlockPool* const pool_;
  IdleShared* const idle_;
  SmCores* const cores_;
  const uint32_t number_;  // there
  guest::GuestThread guest_;
  TraceRing trace_;
  guest::BlockRun* run_ = nullptr;  // for the next block that begins
  uint64_t piece_end_ = 0;  // of the blocks that it runs now; of a block that resumes: 0
  uint32_t generation_ = 0;  // of the pool, when it last freed what run_ holds
  bool holds_much_ = false;  // run_ does, and the pool has been told
  StolenTime stolen_;
  uint64_t idle_since_ns_ = 0;  // 0: it is not
  uint64_t spin_ns_ = 20'000;  // adapted to how soon work comes
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tutti::device::cpu
