// The contract between a compiled kernel and the CPU device that runs it.
//
// A kernel is a shared object with one exported object, `tutti_kernel` (KernelDescriptor). It has no undefined symbols:
// it reaches everything outside through its BlockState. One thread block runs on one worker thread, on guest stacks
// (guest/exec/guest_stack.h), never on the worker's own stack. A warp is 32 lanes executed as vectors of 32 with
// an active mask; lane l of warp w is the thread of linear index 32 w + l of its block.
//
// Guest code holds no locks, allocates nothing, and may be abandoned at any instruction: on a fault, a kill or the end
// of its client the worker simply switches away and reuses the stack.
//
// Layouts here are baked into generated code: change kAbiVersion with any change (it is part of the code cache key).
#pragma once

#include <cstddef>
#include <cstdint>

#include "guest/fault_kind.h"

namespace tutti::guest {

inline constexpr uint32_t kAbiVersion = 13;
inline constexpr uint32_t kWarpSize = 32;
inline constexpr uint32_t kKernelMagic = 0x4c4e524b;  // "KRNL"

struct BlockState;
struct KernelDescriptor;
struct WarpState;

// Shared memory in a cluster of several blocks (docs/adr/0017-blocks-of-a-cluster-see-each-other-in-a-view-each.md).
// Each block has a *view*: address space in slots. Slot 0 is the block's own shared window, slot 1 + r that of the
// cluster's block of rank r. So the 32-bit address of a place in shared::cluster is (1 + r) << kSlotShift | offset,
// which names one block for all that use it, or a plain offset, which is the executing block's own; a generic address
// is that in a view. Views lie 2^kViewShift bytes apart, so generic addresses of any view have the right low half.
inline constexpr uint32_t kSlotShift = 24;
inline constexpr uint32_t kViewShift = 32;
inline constexpr uint32_t kMaxClusterBlocks = 16;

// What lanes do at a barrier. Warps that have waited for the whole block resume one after the other, so programs with a
// race, that read shared memory behind a barrier and overwrite it without another one, see an order. On a GPU they work
// because every warp's first steps come before any warp's later ones. Here the order makes them work: ascending in
// general, since it is mostly the first warp that reads what all have written; descending where all read one word,
// since it is mostly the first warp that overwrites that word.
enum class BarrierMode : uint32_t {
  kArrive = 0,  // and do not wait
  kArriveAndWait = 1,  // for all to arrive; then the first warp resumes first
  kArriveAndWaitDown = 2,  // for all to arrive; then the last warp resumes first
  kWait = 3,  // for the phase to complete in which the warp has arrived before
};

// A program's mistakes that the lanes of a warp make together.
enum class WarpMistake : uint32_t {  // names lanes that have not ended and are elsewhere:
  kShuffle = 0,
  kVote = 1,
  kMatch = 2,
  kRedux = 3,
  kElect = 4,
  kWarpBarrier = 5,
  kBarrierNumbers = 6,  // lanes reduce at one barrier instruction and name different barriers
};

// Services of the device for guest code. All take the calling warp; all may switch to another warp's stack. `mask` is
// the set of lanes that call.
struct GuestServices {
  // bar.sync / barrier.sync / bar.arrive: barrier `id` (0..15) with `threads` participants (0: all of the block). In
  // the full-block form lanes that have exited count as arrived.
  void (*barrier)(WarpState*, uint32_t mask, uint32_t id, uint32_t threads, BarrierMode mode);
  // bar.red over the participants: op 0 popc, 1 and, 2 or, of the lanes' predicates `votes`. Returns the result.
  uint32_t (*barrier_reduce)(WarpState*, uint32_t mask, uint32_t id, uint32_t threads, uint32_t op, uint32_t votes);
  // Lets other warps of the block run: called by nanosleep, and on back-edges of loops that wait for memory.
  void (*yield)(WarpState*);
  // Ends the client's kernel. `lane` is the first faulting lane, `address` the address if any, `location` an index into
  // KernelDescriptor::locations (~0: unknown). Does not return.
  void (*fault)(WarpState*, FaultKind kind, uint32_t lane, uint64_t address, uint32_t location);
  // vprintf of one lane: format and packed arguments are guest addresses. Returns printf's result.
  int32_t (*print)(WarpState*, uint32_t lane, uint64_t format, uint64_t arguments);
  // Device-side malloc and free of one lane (device heap).
  uint64_t (*allocate)(WarpState*, uint64_t bytes);
  void (*release)(WarpState*, uint64_t address);
  // __assertfail of one lane: texts are guest addresses, `location` as in fault. Does not return.
  void (*assert_fail)(WarpState*, uint32_t lane, uint64_t message, uint64_t file, uint32_t line, uint64_t function,
                      uint32_t location);
  // %globaltimer, in nanoseconds, and %clock64.
  uint64_t (*global_timer)(WarpState*);
  uint64_t (*clock)(WarpState*);
  // barrier.cluster: a barrier of all threads of the cluster, besides the block's 16. kArrive or kWait.
  void (*cluster_barrier)(WarpState*, uint32_t mask, BarrierMode mode);
  // Ends the client's kernel like fault. `lanes`: the missing ones.
  void (*mistake)(WarpState*, WarpMistake what, uint32_t lane, uint32_t lanes, uint32_t location);
  // Grid-wide barrier of a cooperative launch.
  void (*grid_barrier)(WarpState*, uint32_t mask);
  // Whether [address, address + bytes), which lies in the client's window but outside of BlockState::reach_base, may be
  // read, or with `writes` written: memory allocated since the block began may, and constants may be read.
  uint32_t (*may_touch)(WarpState*, uint64_t address, uint64_t bytes, uint32_t writes);
  // Barriers for lanes that take turns. enter: arrives without waiting; returns the phase to wait for. `votes` as for
  // barrier_reduce. pass: `ids` and `phases` have 32 elements; returns the lanes of `mask` whose phase is over, and if
  // there are none and `blocks` is set, waits until there are. outcome: of the barrier's last phase, as of
  // barrier_reduce.
  uint32_t (*barrier_enter)(WarpState*, uint32_t mask, uint32_t id, uint32_t threads, uint32_t votes);
  uint32_t (*barrier_pass)(WarpState*, uint32_t mask, const uint32_t* ids, const uint32_t* phases, uint32_t blocks);
  uint32_t (*barrier_outcome)(WarpState*, uint32_t id, uint32_t op);
  // cudaGraphSetConditional of one lane: gives the condition of a conditional graph node its value. Ends the client's
  // kernel like fault if the client has no such condition.
  void (*set_condition)(WarpState*, uint32_t lane, uint64_t condition, uint32_t value, uint32_t location);
  // A function of the device runtime, called by one lane (guest/device_runtime.h): `words` is the address of its
  // arguments in the lane's local memory. Returns the function's result.
  uint64_t (*device_runtime)(WarpState*, uint32_t lane, uint32_t function, uint64_t words);
  // wgmma.wait_group: a barrier of the caller's warp group, the four warps (or fewer, at the end of the block) whose
  // numbers differ in the lowest two bits.
  void (*warp_group_barrier)(WarpState*, uint32_t mask);
  // For code that better code may replace in a block (docs/adr/0026-a-first-launch-runs-quick-code.md). begin_anew: if
  // the block has written nothing that others can see, and there is newer code, does not return: the block begins anew
  // in that. await_writes: the warp is about to write such a thing; lets the block's other warps run, and returns when
  // they have. When none of them can go on otherwise, or they have met each other very often, sets BlockState::writes,
  // unless the block begins anew.
  void (*begin_anew)(WarpState*);
  void (*await_writes)(WarpState*);
};

// One running block. Prepared by the device, read-only to guest code, except where noted.
struct BlockState {
  const GuestServices* services;
  const uint8_t* params;  // the kernel's parameter buffer (a private copy)
  uint64_t module_base;  // where this client's copy of the module's globals lies
  uint64_t constants_base;  // ... and of its constants
  uint8_t* shared;  // the block's shared window; offset 0 of the .shared space
  uint32_t shared_bytes;  // static + dynamic
  uint32_t dynamic_shared_bytes;
  uint64_t window_base;  // the client's device window: the only global memory this code may touch
  uint64_t window_bytes;
  uint64_t reach_base;  // ... the part of it that was writable when the block began
  uint64_t reach_bytes;
  uint32_t grid[3];
  uint32_t block[3];
  // ctaid[0] is written by code that goes on to the blocks behind it in its row of the grid (ctaid_end).
  uint32_t ctaid[3];
  uint32_t smid;
  uint32_t nsmid;
  uint32_t cluster[3];  // cluster dimensions, 1,1,1 without clusters
  uint32_t cluster_ctaid[3];
  uint32_t explicit_cluster;  // 1: the launch named them
  uint32_t cluster_slots;  // windows of the cluster in each view; 0: one block, which has its own window alone
  uint32_t slot_bytes;  // 1 << kSlotShift; 0 with one block, where addresses of any rank are the block's own
  uint64_t cluster_views;  // the first view; with one block `shared`
  uint32_t dynamic_shared_offset;  // where dynamic shared memory starts in the shared window
  uint64_t gridid;
  uint64_t cooperative_workspace;  // %envreg1/2: {u32 size, u32 barrier}; 0 if the launch was not cooperative
  const KernelDescriptor* code;  // that the block began with
  const KernelDescriptor* const* newest;  // that a block begins with now: written by other threads
  // The block writes, or has written, what others can see, or no newer code is to come; not set by code that has no
  // await_writes.
  uint32_t writes;
  // Where the blocks end that RunWarps may run by itself, counted as ctaid[0] is, and behind that: the block's own
  // alone, or more of its row of the grid. Code that can goes on without returning. When a block has ended it stores
  // the number of the next one to ctaid[0], *then* loads ctaid_end, and begins that block if it lies before the end,
  // or else returns. So whoever interrupts the code, on its thread and between any two instructions, finds the block
  // that it is in: ctaid[0], or the last one before the end if it has done all of them. And may move the end forward to
  // just behind that block. All that the blocks of a launch have in common the code may have read or computed for the
  // first of them; only ctaid[0] changes from one to the next.
  uint32_t ctaid_end;
  void* device;  // the device's own
};

// One warp of a running block.
struct WarpState {
  BlockState* block;
  uint32_t warp;  // index in the block
  // mask of lanes that exist (the last warp may be partial); written by guest code: lanes not exited
  uint32_t lanes;
  uint8_t* local;  // the warp's local memory, of 32 * local_bytes, in which the kernel gives each lane its part
  uint32_t local_bytes;  // per lane, as the descriptor asked
  uint32_t reserved;
  uint64_t stack_limit;  // called functions may be entered as long as the stack pointer is not below this
  void* device;  // the device's own
};

// Of KernelDescriptor::local_bytes: the 512 KiB that CUDA allows, and what recursion, alloca and alignment take.
constexpr uint64_t kMostLocalBytes = (512 + 64) << 10;

enum KernelFlags : uint32_t {
  kYields = 1u << 0,  // calls a barrier or yield: each warp needs a stack of its own
  kUsesPrint = 1u << 1,
  kUsesHeap = 1u << 2,
  kCooperative = 1u << 3,  // uses the grid barrier
  kEndsLanes = 1u << 4,  // writes WarpState::lanes
  kBlocksInAnyOrder = 1u << 5,  // no block can wait for another one, so they may begin in any order
};

struct SourceLocation {  // for fault reports: the PTX line, and with -lineinfo the source line
  uint32_t ptx_line;
  uint32_t source_line;
  const char* source_file;  // or null
};

// Runs warps [0, count) of a block whose WarpStates lie in one array, each to its end, one after the other; then, if it
// can, those of the blocks before BlockState::ctaid_end, whose warps and stack they are as well. For kernels with
// kYields the device calls it once per warp, each on a stack of its own, with count = 1, and for the one block. `count`
// is never 0.
using RunWarps = void (*)(WarpState* warps, uint32_t count);

struct KernelDescriptor {
  uint32_t magic;
  uint32_t abi_version;
  const char* name;
  RunWarps run;
  uint32_t flags;
  uint32_t param_bytes;
  uint32_t static_shared_bytes;
  uint32_t local_bytes;  // per lane, in WarpState::local
  uint32_t stack_bytes;  // of native stack that one warp may need
  uint32_t block[3];  // the shape it was compiled for; 0,0,0: any
  uint32_t location_count;
  const SourceLocation* locations;
};

inline constexpr const char* kKernelSymbol = "tutti_kernel";

}  // namespace tutti::guest
