// Work for SMs, as the scheduler sees it: a number of blocks, of one operation of one Space on one device. Belongs to
// its operation. Fields are guarded by the device's scheduler lock, unless noted.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/cpu/memory/transfer.h"
#include "device/cpu/schedule/block_order.h"
#include "guest/exec/kernel_launch.h"

namespace tutti::guest {
class BlockRun;
}

namespace tutti::device::cpu {

struct SpaceShare;
struct ContextCap;
struct CpuOperation;

// Learned behaviour of the blocks of one kind of work: estimates that several threads improve. Relaxed, except where
// marked.
struct BlockHabits {
  std::atomic<uint32_t> ns{0};  // time per block; 0: unknown
  // How many of the last kAlways chunks, about, ended with a block that waits for memory.
  std::atomic<uint32_t> waits{0};

  static constexpr uint32_t kAlways = 256;

  void LearnTime(uint64_t total_ns, uint64_t blocks) {
    const uint64_t measured = total_ns / blocks;
    const uint64_t old = ns.load(std::memory_order_relaxed);
    const uint64_t mixed = old == 0 ? measured : (3 * old + measured) / 4;
    ns.store(static_cast<uint32_t>(mixed < 1            ? 1
                                   : mixed > 0xffffffff ? 0xffffffff
                                                        : mixed),
             std::memory_order_seq_cst);  // see LearnTime below
  }
  // Their code has been replaced.
  void ForgetTime() { ns.store(0, std::memory_order_seq_cst); }
  // A chunk has ended with a block that waits, or without one.
  void LearnWait(bool waited) {
    const uint32_t old = waits.load(std::memory_order_relaxed);
    const uint32_t mixed = old - old / 8 + (waited ? kAlways / 8 : 0);
    if (mixed != old) waits.store(mixed, std::memory_order_relaxed);
  }
  // As most chunks do in a chain of blocks on several SMs.
  bool WaitOften() const { return waits.load(std::memory_order_relaxed) >= kAlways / 4; }
};

// Runs, in order.
struct RunList {
  guest::BlockRun* head = nullptr;
  guest::BlockRun* tail = nullptr;

  void Push(guest::BlockRun* run);
  guest::BlockRun* Pop();
};

struct Task;

// Tasks of one urgency, in order. Intrusive.
struct TaskQueue {
  Task* head = nullptr;
  Task* tail = nullptr;

  void PushBack(Task* task);
  void PushFront(Task* task);
  void Remove(Task* task);
};

struct Task {
  // Constant while scheduled.
  CpuOperation* operation = nullptr;
  SpaceShare* share = nullptr;
  uint32_t urgency = 0;  // 0 is the most urgent: queue index
  uint32_t context = 0;  // of its stream
  uint64_t total_blocks = 0;  // what the scheduler deals in: blocks, or clusters of several
  uint32_t run_blocks = 1;  // the kernel's blocks in each: those of a cluster run together
  bool is_kernel = false;
  bool any_order = false;  // none of its blocks can wait for another one
  bool is_quick = false;  // its kernel's first blocks begin in quick code
  BlockHabits* habits = nullptr;
  guest::KernelLaunch kernel;
  Transfer transfer;

  // Progress.
  BlockOrder order;
  uint32_t active_chunks = 0;  // dispatched now
  RunList at_grid_barrier;     // begun, wait for the others
  uint64_t at_grid_count = 0;
  bool yields = false;       // a block of it has waited for memory
  ContextCap* cap = nullptr;  // of its context, if that has one
  uint64_t ready_ns = 0;     // when it was submitted
  uint64_t begun_ns = 0;  // when its first block was dispatched; 0: not yet
  uint64_t active_ns = 0;        // time in which at least one of its blocks ran, up to
  uint64_t active_since_ns = 0;  // this, if one runs now
  TaskQueue* queue = nullptr;    // that it is in
  uint32_t queued_urgency = 0;   // of that queue, if it is the share's
  bool held_up = false;          // counted in SpaceShare::held_up
  std::atomic<bool> queued{false};  // counted among the scheduler's queued tasks: a lock-free hint
  Task* previous = nullptr;
  Task* next = nullptr;

  uint64_t ActiveNs(uint64_t now_ns) const {
    return active_ns + (active_chunks != 0 && now_ns > active_since_ns ? now_ns - active_since_ns : 0);
  }
};

// Blocks of the task that began with `code` (null: it is a copy) took so long. Nothing is learned of code that has been
// replaced, nor of blocks of both; whoever replaces it stores the new code and then forgets the time.
void LearnTime(const Task& task, const guest::KernelDescriptor* code, uint64_t total_ns, uint64_t blocks);

}  // namespace tutti::device::cpu
