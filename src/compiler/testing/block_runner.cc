#include "compiler/testing/block_runner.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "compiler/testing/guest_print.h"

// Warps of kernels that yield run as fibers, each on a stack of its own. A fiber starts by setcontext; later switches
// use the compiler's setjmp, which costs a few instructions. A fiber that yields returns to the scheduler, which
// resumes the next warp that is not waiting, round robin.
namespace tutti::compiler {
namespace {

using guest::BlockState;
using guest::FaultKind;
using guest::WarpState;

struct Block;

constexpr uint32_t kNamedBarriers = 16, kClusterBarrier = 16, kBarriers = 17;
constexpr size_t kStackBytes = 4 << 20;  // unoptimised code needs more than its descriptor says

// What __builtin_setjmp fills. Jumping is a function of its own, as the compilers want it.
using Context = void* [5];
[[noreturn, gnu::noinline]] void Jump(Context& to) { __builtin_longjmp(to, 1); }

struct Fiber {
  WarpState* warp = nullptr;
  Block* block = nullptr;
  void* stack = nullptr;
  ucontext_t start;
  Context resume;
  bool started = false, finished = false;
  struct Wait {
    const uint64_t* generation;  // a counter ...
    uint64_t seen;               // ... that must leave this value
  };
  Wait waits[17] = {};  // it goes on when one of them is over
  uint32_t wait_count = 0;

  bool Waits() const {
    if (wait_count == 0) return false;
    for (uint32_t i = 0; i < wait_count; ++i) {
      if (*waits[i].generation != waits[i].seen) return false;
    }
    return true;
  }
};

struct Barrier {
  uint64_t generation = 0;
  uint32_t arrived = 0, threads = 0;  // threads 0: all
  uint32_t votes = 0, voters = 0, result_votes = 0, result_voters = 0;
  uint64_t arrived_in[guest::kWarpSize] = {};  // the generation in which a warp arrived last without waiting
  uint32_t lanes[guest::kWarpSize] = {};       // of warps that arrive in parts
};

struct Block {
  BlockState state{};
  std::vector<WarpState> warps;
  std::vector<uint8_t> shared, local;
  std::vector<Fiber> fibers;
  Barrier barriers[kBarriers];
  bool downwards = false;  // the order in which its warps go on
  bool in_new_order = false;
};

enum HowFaulted { kByService = 1, kBySignal = 2 };

struct Grid {
  const guest::KernelDescriptor* kernel = nullptr;
  std::vector<Block> resident;  // a member, since a fault jumps over the frames of whoever runs them
  GridResult result;
  Barrier grid_barrier;
  Fiber* current = nullptr;
  Context scheduler;
  sigjmp_buf faulted;
  uint64_t faulting_address = 0;
  bool faulted_by_stack = false;
  uint64_t reach_now = 0;  // of the window; 0: what it was at first
  std::vector<std::unique_ptr<uint8_t[]>> heap;
  std::vector<void*> free_stacks;
};
Grid* g_grid = nullptr;

Block* BlockOf(WarpState* warp) { return static_cast<Block*>(warp->block->device); }
uint32_t LinearThread(const WarpState* warp, uint32_t lane) { return warp->warp * guest::kWarpSize + lane; }

[[noreturn]] void Stop(WarpState* warp, GuestFault fault) {
  for (int i = 0; i < 3; ++i) fault.ctaid[i] = warp->block->ctaid[i];
  g_grid->result.fault = std::move(fault);
  siglongjmp(g_grid->faulted, kByService);
}

// ---- waiting

void SwitchToScheduler() {
  Fiber* fiber = g_grid->current;
  TUTTI_CHECK(fiber != nullptr);  // a kernel that waits must carry kYields
  if (__builtin_setjmp(fiber->resume) == 0) Jump(g_grid->scheduler);
}

void WaitFor(const uint64_t& generation) {
  Fiber* fiber = g_grid->current;
  TUTTI_CHECK(fiber != nullptr);
  fiber->waits[fiber->wait_count++] = {&generation, generation};
  SwitchToScheduler();
  fiber->wait_count = 0;
}

uint32_t CountOf(uint32_t mask) {
  return mask == ~0u ? guest::kWarpSize : static_cast<uint32_t>(__builtin_popcount(mask));
}

uint32_t LiveThreads(const Block& block) {
  uint32_t live = 0;
  for (size_t i = 0; i < block.warps.size(); ++i) {
    if (!block.fibers[i].finished) live += CountOf(block.warps[i].lanes);
  }
  return live;
}

void CompleteIfFull(Barrier& barrier, uint32_t threads) {
  if (barrier.arrived == 0 || barrier.arrived < threads) return;
  barrier.arrived = 0;
  for (uint32_t& lanes : barrier.lanes) lanes = 0;
  barrier.result_votes = std::exchange(barrier.votes, 0);
  barrier.result_voters = std::exchange(barrier.voters, 0);
  ++barrier.generation;
}

void CompleteFullBarriers(Block& block) {
  for (Barrier& barrier : block.barriers)
    CompleteIfFull(barrier, barrier.threads == 0 ? LiveThreads(block) : barrier.threads);
}

void Arrive(WarpState* warp, uint32_t mask, Barrier& barrier, uint32_t threads) {
  // With an explicit count a warp counts as 32 threads, also one that is not full.
  uint32_t& before = barrier.lanes[warp->warp];
  const bool whole = threads != 0 && ((before | mask) & warp->lanes) == warp->lanes;
  barrier.arrived += whole ? guest::kWarpSize - CountOf(before) : CountOf(mask);
  before = whole ? 0 : before | mask;
  barrier.threads = threads;
}

void ArriveOrWait(WarpState* warp, uint32_t mask, Barrier& barrier, uint32_t threads, guest::BarrierMode mode) {
  Block* block = BlockOf(warp);
  if (mode == guest::BarrierMode::kWait) {
    if (barrier.generation == barrier.arrived_in[warp->warp]) WaitFor(barrier.generation);
    return;
  }
  Arrive(warp, mask, barrier, threads);
  const uint64_t before = barrier.generation;
  CompleteIfFull(barrier, threads == 0 ? LiveThreads(*block) : threads);
  if (mode == guest::BarrierMode::kArrive) {
    barrier.arrived_in[warp->warp] = before;
  } else if (barrier.generation == before) {
    WaitFor(barrier.generation);
  } else if (threads == 0) {
    block->downwards = mode == guest::BarrierMode::kArriveAndWaitDown;
    block->in_new_order = true;
    SwitchToScheduler();
  }
}

void ServeBarrier(WarpState* warp, uint32_t mask, uint32_t id, uint32_t threads, guest::BarrierMode mode) {
  ArriveOrWait(warp, mask, BlockOf(warp)->barriers[id % kNamedBarriers], threads, mode);
}

void ServeClusterBarrier(WarpState* warp, uint32_t mask, guest::BarrierMode mode) {
  ArriveOrWait(warp, mask, BlockOf(warp)->barriers[kClusterBarrier], 0, mode);
}

uint32_t OutcomeOf(const Barrier& barrier, uint32_t op) {
  if (op == 0) return barrier.result_votes;
  return op == 1 ? barrier.result_votes == barrier.result_voters : barrier.result_votes != 0;
}

uint32_t ServeBarrierReduce(WarpState* warp, uint32_t mask, uint32_t id, uint32_t threads, uint32_t op,
                            uint32_t votes) {
  Barrier& barrier = BlockOf(warp)->barriers[id % kNamedBarriers];
  barrier.votes += static_cast<uint32_t>(__builtin_popcount(votes & mask));
  barrier.voters += static_cast<uint32_t>(__builtin_popcount(mask));
  ServeBarrier(warp, mask, id, threads, guest::BarrierMode::kArriveAndWait);
  return OutcomeOf(barrier, op);
}

uint32_t ServeBarrierEnter(WarpState* warp, uint32_t mask, uint32_t id, uint32_t threads, uint32_t votes) {
  Barrier& barrier = BlockOf(warp)->barriers[id % kNamedBarriers];
  barrier.votes += static_cast<uint32_t>(__builtin_popcount(votes & mask));
  barrier.voters += static_cast<uint32_t>(__builtin_popcount(mask));
  const auto phase = static_cast<uint32_t>(barrier.generation);
  ServeBarrier(warp, mask, id, threads, guest::BarrierMode::kArrive);
  return phase;
}

uint32_t ServeBarrierPass(WarpState* warp, uint32_t mask, const uint32_t* ids, const uint32_t* phases,
                          uint32_t blocks) {
  Block* block = BlockOf(warp);
  for (;;) {
    CompleteFullBarriers(*block);  // lanes may have ended
    uint32_t passed = 0, open = 0;
    for (uint32_t lane = 0; lane < guest::kWarpSize; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const bool over = static_cast<uint32_t>(block->barriers[ids[lane] % kNamedBarriers].generation) != phases[lane];
      (over ? passed : open) |= over ? 1u << lane : 1u << ids[lane] % kNamedBarriers;
    }
    if (passed != 0 || blocks == 0) return passed;
    Fiber* fiber = g_grid->current;
    TUTTI_CHECK(fiber != nullptr);
    for (uint32_t id = 0; id < kNamedBarriers; ++id) {
      const uint64_t& generation = block->barriers[id].generation;
      if ((open >> id & 1) != 0) fiber->waits[fiber->wait_count++] = {&generation, generation};
    }
    SwitchToScheduler();
    fiber->wait_count = 0;
  }
}

uint32_t ServeBarrierOutcome(WarpState* warp, uint32_t id, uint32_t op) {
  return OutcomeOf(BlockOf(warp)->barriers[id % kNamedBarriers], op);
}

void ServeYield(WarpState*) {
  ++g_grid->result.yields;
  SwitchToScheduler();
}

void ServeGridBarrier(WarpState*, uint32_t mask) {
  Barrier& barrier = g_grid->grid_barrier;
  barrier.arrived += static_cast<uint32_t>(__builtin_popcount(mask));
  uint32_t live = 0;
  for (const Block& block : g_grid->resident) live += LiveThreads(block);
  const uint64_t before = barrier.generation;
  CompleteIfFull(barrier, live);
  if (barrier.generation == before) WaitFor(barrier.generation);
}

// ---- the other services

uint32_t LineOf(uint32_t location) {
  const auto& kernel = *g_grid->kernel;
  return location < kernel.location_count ? kernel.locations[location].ptx_line : 0;
}

void ServeFault(WarpState* warp, FaultKind kind, uint32_t lane, uint64_t address, uint32_t location) {
  Stop(warp, {.kind = kind, .thread = LinearThread(warp, lane), .address = address, .ptx_line = LineOf(location)});
}

void ServeMistake(WarpState* warp, guest::WarpMistake what, uint32_t lane, uint32_t lanes, uint32_t location) {
  Stop(warp, {.kind = FaultKind::kLaunchFailed,
              .thread = LinearThread(warp, lane),
              .ptx_line = LineOf(location),
              .mistake = what,
              .absent = lanes});
}

int32_t ServePrint(WarpState*, uint32_t, uint64_t format, uint64_t arguments) {
  const std::string text = FormatGuestPrint(format, arguments);
  g_grid->result.output += text;
  return static_cast<int32_t>(text.size());
}

uint64_t ServeAllocate(WarpState*, uint64_t bytes) {
  g_grid->heap.push_back(std::make_unique<uint8_t[]>(bytes + 16));
  return (reinterpret_cast<uint64_t>(g_grid->heap.back().get()) + 15) / 16 * 16;
}

void ServeRelease(WarpState*, uint64_t) {}  // freed with the run

void ServeAssertFail(WarpState* warp, uint32_t lane, uint64_t message, uint64_t file, uint32_t line, uint64_t function,
                     uint32_t location) {
  const auto text = [](uint64_t address) {
    return std::string(address != 0 ? reinterpret_cast<const char*>(address) : "");
  };
  Stop(warp, {.kind = FaultKind::kAssert,
              .thread = LinearThread(warp, lane),
              .ptx_line = LineOf(location),
              .text = text(file) + ":" + std::to_string(line) + ": " + text(function) + ": Assertion `" +
                      text(message) + "` failed."});
}

uint64_t ServeGlobalTimer(WarpState*) {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}
uint64_t ServeClock(WarpState*) { return __builtin_ia32_rdtsc(); }
uint32_t ServeMayTouch(WarpState* warp, uint64_t address, uint64_t bytes, uint32_t) {
  const uint64_t reach = g_grid->reach_now != 0 ? g_grid->reach_now : warp->block->window_reach;
  return InRange<uint64_t>(address - warp->block->window_base, bytes, reach) ? 1 : 0;
}

constexpr guest::GuestServices kServices = {
    .barrier = ServeBarrier,
    .barrier_reduce = ServeBarrierReduce,
    .yield = ServeYield,
    .fault = ServeFault,
    .print = ServePrint,
    .allocate = ServeAllocate,
    .release = ServeRelease,
    .assert_fail = ServeAssertFail,
    .global_timer = ServeGlobalTimer,
    .clock = ServeClock,
    .cluster_barrier = ServeClusterBarrier,
    .mistake = ServeMistake,
    .grid_barrier = ServeGridBarrier,
    .may_touch = ServeMayTouch,
    .barrier_enter = ServeBarrierEnter,
    .barrier_pass = ServeBarrierPass,
    .barrier_outcome = ServeBarrierOutcome,
};

// ---- running

void FiberMain() {
  Fiber* fiber = g_grid->current;
  g_grid->kernel->run(fiber->warp, 1);
  fiber->finished = true;
  CompleteFullBarriers(*fiber->block);
  Jump(g_grid->scheduler);
}

void* TakeStack() {
  if (!g_grid->free_stacks.empty()) {
    void* stack = g_grid->free_stacks.back();
    g_grid->free_stacks.pop_back();
    return stack;
  }
  const size_t bytes = kStackBytes + g_grid->kernel->stack_bytes;
  void* stack =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  TUTTI_CHECK(stack != MAP_FAILED);
  return stack;
}

void Resume(Fiber& fiber) {
  g_grid->current = &fiber;
  if (__builtin_setjmp(g_grid->scheduler) != 0) return;
  if (fiber.started) Jump(fiber.resume);
  fiber.started = true;
  fiber.stack = TakeStack();
  fiber.warp->stack_limit = reinterpret_cast<uint64_t>(fiber.stack) + (64 << 10);
  getcontext(&fiber.start);
  fiber.start.uc_stack.ss_sp = fiber.stack;
  fiber.start.uc_stack.ss_size = kStackBytes + g_grid->kernel->stack_bytes;
  fiber.start.uc_link = nullptr;
  makecontext(&fiber.start, FiberMain, 0);
  setcontext(&fiber.start);
}

// Runs every warp of the resident blocks to its end.
void RunFibers() {
  for (bool unfinished = true; unfinished;) {
    unfinished = false;
    bool progress = false;
    for (Block& block : g_grid->resident) {
      block.in_new_order = false;
      for (size_t i = 0; i < block.fibers.size() && !block.in_new_order; ++i) {
        Fiber& fiber = block.fibers[block.downwards ? block.fibers.size() - 1 - i : i];
        if (fiber.finished) continue;
        unfinished = true;
        if (fiber.Waits()) continue;
        progress = true;
        Resume(fiber);
        if (fiber.finished) g_grid->free_stacks.push_back(fiber.stack);
      }
    }
    if (unfinished && !progress) {
      g_grid->result.deadlock = true;
      return;
    }
  }
}

void PrepareBlock(Block& block, const GridLaunch& launch, uint32_t index) {
  const auto& kernel = *g_grid->kernel;
  const uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  const uint32_t warps = (threads + guest::kWarpSize - 1) / guest::kWarpSize;
  const uint32_t dynamic_offset = (kernel.static_shared_bytes + 15) / 16 * 16;
  block.shared.resize(dynamic_offset + launch.dynamic_shared_bytes + 64);
  block.local.resize(static_cast<size_t>(warps) * guest::kWarpSize * kernel.local_bytes + 64);
  const auto aligned = [](std::vector<uint8_t>& bytes) {
    return reinterpret_cast<uint8_t*>((reinterpret_cast<uint64_t>(bytes.data()) + 63) / 64 * 64);
  };

  BlockState& state = block.state;
  state = {};
  state.services = &kServices;
  state.params = launch.params.data();
  state.module_base = state.constants_base = launch.module_base;
  state.shared = aligned(block.shared);
  state.shared_bytes = dynamic_offset + launch.dynamic_shared_bytes;
  state.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  state.dynamic_shared_offset = dynamic_offset;
  state.window_base = launch.window_base;
  state.window_bytes = launch.window_bytes != 0 ? launch.window_bytes : 1ull << 47;
  state.window_reach = launch.window_reach != 0 ? launch.window_reach : state.window_bytes;
  const uint32_t* grid = launch.grid.data();
  const uint32_t ctaid[3] = {index % grid[0], index / grid[0] % grid[1], index / grid[0] / grid[1]};
  for (int i = 0; i < 3; ++i) {
    state.grid[i] = launch.grid[i];
    state.block[i] = launch.block[i];
    state.ctaid[i] = ctaid[i];
    state.cluster[i] = 1;
  }
  state.nsmid = 1;
  state.gridid = 1;
  state.device = &block;

  block.warps.assign(warps, {});
  block.fibers.resize((kernel.flags & guest::kYields) != 0 ? warps : 0);
  for (Barrier& barrier : block.barriers) barrier = {};
  block.downwards = false;
  for (uint32_t w = 0; w < warps; ++w) {
    const uint32_t left = threads - w * guest::kWarpSize;
    WarpState& warp = block.warps[w];
    warp.block = &state;
    warp.warp = w;
    warp.lanes = left >= guest::kWarpSize ? ~0u : (1u << left) - 1;
    warp.local = aligned(block.local) + static_cast<size_t>(w) * guest::kWarpSize * kernel.local_bytes;
    warp.local_bytes = kernel.local_bytes;
    warp.stack_limit = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) - kStackBytes - kernel.stack_bytes;
  }
  for (uint32_t w = 0; w < block.fibers.size(); ++w) {
    Fiber& fiber = block.fibers[w];
    fiber.warp = &block.warps[w];
    fiber.block = &block;
    fiber.started = fiber.finished = false;
    fiber.wait_count = 0;
  }
}

void RunBlocks(const GridLaunch& launch) {
  const uint32_t count = launch.grid[0] * launch.grid[1] * launch.grid[2];
  const uint32_t at_once = launch.cooperative ? count : 1;
  std::vector<Block>& blocks = g_grid->resident;
  blocks = std::vector<Block>(at_once);
  for (uint32_t first = 0; first < count; first += at_once) {
    for (uint32_t i = 0; i < at_once; ++i) PrepareBlock(blocks[i], launch, first + i);
    if ((g_grid->kernel->flags & guest::kYields) != 0) {
      RunFibers();
      if (g_grid->result.deadlock) return;
    } else {
      for (Block& block : blocks) g_grid->kernel->run(block.warps.data(), static_cast<uint32_t>(block.warps.size()));
    }
  }
}

void OnSignal(int, siginfo_t* info, void* raw_context) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const auto stack = static_cast<uint64_t>(static_cast<ucontext_t*>(raw_context)->uc_mcontext.gregs[REG_RSP]);
  g_grid->faulting_address = address;
  g_grid->faulted_by_stack = address - stack + (64 << 10) < (128 << 10);
  siglongjmp(g_grid->faulted, kBySignal);
}

}  // namespace

GridResult RunGrid(const guest::KernelDescriptor& kernel, const GridLaunch& launch) {
  Grid grid;
  grid.kernel = &kernel;
  grid.reach_now = launch.window_reach_now;
  g_grid = &grid;
  static uint8_t signal_stack[64 * 1024];
  const stack_t alternate = {.ss_sp = signal_stack, .ss_flags = 0, .ss_size = sizeof signal_stack};
  sigaltstack(&alternate, nullptr);
  struct sigaction action{}, old_segv, old_bus;
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &old_segv);
  sigaction(SIGBUS, &action, &old_bus);
  switch (sigsetjmp(grid.faulted, 1)) {
    case 0: RunBlocks(launch); break;
    case kBySignal:  // reported here, since a signal handler cannot allocate
      grid.result.fault =
          GuestFault{.kind = grid.faulted_by_stack ? FaultKind::kHardwareStackError : FaultKind::kIllegalAddress,
                     .address = grid.faulting_address,
                     .text = "caught as a signal"};
      break;
    default:  // the service has reported it
      break;
  }
  sigaction(SIGSEGV, &old_segv, nullptr);
  sigaction(SIGBUS, &old_bus, nullptr);
  for (void* stack : grid.free_stacks) munmap(stack, kStackBytes + grid.kernel->stack_bytes);
  g_grid = nullptr;
  return std::move(grid.result);
}

}  // namespace tutti::compiler
