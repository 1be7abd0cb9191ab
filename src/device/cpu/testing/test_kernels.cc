#include "device/cpu/testing/test_kernels.h"

#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/result.h"

namespace tutti::device::cpu {
namespace {

using guest::KernelDescriptor;
using guest::WarpState;

const uint64_t* Arguments(WarpState* warp) { return reinterpret_cast<const uint64_t*>(warp->block->params); }

template <typename T = uint64_t>
T* Pointer(WarpState* warp, int argument) {
  return reinterpret_cast<T*>(Arguments(warp)[argument]);
}

uint32_t LaneCount(const WarpState* warp) { return static_cast<uint32_t>(__builtin_popcount(warp->lanes)); }

uint64_t BlockIndex(const WarpState* warp) {
  const guest::BlockState& block = *warp->block;
  return block.ctaid[0] + uint64_t{block.grid[0]} * (block.ctaid[1] + uint64_t{block.grid[1]} * block.ctaid[2]);
}

uint32_t BlockThreads(const WarpState* warp) {
  return warp->block->block[0] * warp->block->block[1] * warp->block->block[2];
}

void AtomicAdd(uint64_t* where, uint64_t value) { __atomic_fetch_add(where, value, __ATOMIC_RELAXED); }

void Wait(WarpState* warp, uint32_t id = 0, uint32_t threads = 0) {
  warp->block->services->barrier(warp, warp->lanes, id, threads, guest::BarrierMode::kArriveAndWait);
}

uint64_t Now(WarpState* warp) { return warp->block->services->global_timer(warp); }

// Runs `one` for each warp.
template <void (*one)(WarpState*)>
void Each(WarpState* warps, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) one(&warps[i]);
}

void Empty(WarpState*) {}

void Add(WarpState* w) { AtomicAdd(Pointer(w, 0), Arguments(w)[1] * LaneCount(w)); }

void Index(WarpState* w) {
  for (uint32_t lane = 0; lane < LaneCount(w); ++lane) {
    const uint64_t index = BlockIndex(w) * BlockThreads(w) + w->warp * 32 + lane;
    Pointer(w, 0)[index] = Arguments(w)[1] + index;
  }
}

void Slow(WarpState* w) {
  if (w->warp != 0) return;
  const uint64_t end = Now(w) + Arguments(w)[1];
  while (Now(w) < end) {
  }
  AtomicAdd(Pointer(w, 0), 1);
}

void Turns(WarpState* w) {
  if (w->warp != 0) return;
  const uint64_t end = Now(w) + Arguments(w)[2];
  Pointer(w, 0)[BlockIndex(w)] = __atomic_fetch_add(Pointer(w, 1), 1, __ATOMIC_RELAXED);
  while (Now(w) < end) {
  }
}

void Endless(WarpState*) {
  volatile uint64_t never = 0;
  while (never == 0) {
  }
}

void WaitFor(WarpState* w) {
  while (__atomic_load_n(Pointer(w, 0), __ATOMIC_ACQUIRE) == 0) w->block->services->yield(w);
  AtomicAdd(Pointer(w, 1), LaneCount(w));
}

void Sum(WarpState* w) {
  auto* const shared = reinterpret_cast<uint64_t*>(w->block->shared);
  const uint32_t threads = BlockThreads(w);
  const auto mine = [&](uint32_t lane) { return w->warp * 32 + lane; };
  for (uint32_t lane = 0; lane < LaneCount(w); ++lane) {
    shared[mine(lane)] = Pointer(w, 0)[BlockIndex(w) * threads + mine(lane)];
  }
  Wait(w);
  for (uint32_t half = threads / 2; half > 0; half /= 2) {
    for (uint32_t lane = 0; lane < LaneCount(w); ++lane) {
      if (mine(lane) < half) shared[mine(lane)] += shared[mine(lane) + half];
    }
    Wait(w);
  }
  if (w->warp == 0) Pointer(w, 1)[BlockIndex(w)] = shared[0];
}

void Barriers(WarpState* w) {
  for (uint64_t round = 0; round < Arguments(w)[1]; ++round) {
    for (uint32_t work = 0; work < 2000; ++work) __asm__ volatile("" ::: "memory");
    Wait(w);
  }
  AtomicAdd(Pointer(w, 0), LaneCount(w));
}

void Vote(WarpState* w) {
  uint32_t votes = 0;
  for (uint32_t lane = 0; lane < LaneCount(w); ++lane) votes |= ((w->warp * 32 + lane) % 3 == 0 ? 1u : 0u) << lane;
  for (uint32_t op = 0; op < 3; ++op) {
    const uint32_t result = w->block->services->barrier_reduce(w, w->lanes, op, 0, op, votes);
    AtomicAdd(&Pointer(w, 0)[op], result);
  }
}

void Half(WarpState* w) { Wait(w, w->warp, 64); }

void Early(WarpState* w) {
  if (w->warp % 2 == 1) return;
  Wait(w);
  AtomicAdd(Pointer(w, 0), 1);
}

void Store(WarpState* w) { *Pointer<volatile uint64_t>(w, 0) = Arguments(w)[1]; }

void Divide(WarpState* w) {
  int quotient, remainder;
  __asm__ volatile("cltd; idivl %2"
                   : "=a"(quotient), "=&d"(remainder)
                   : "r"(static_cast<int>(Arguments(w)[0])), "a"(1));
}

void Illegal(WarpState*) { __asm__ volatile("ud2"); }

__attribute__((noinline)) uint64_t Recurse(uint64_t depth) {
  volatile uint64_t frame[64];
  frame[0] = depth;
  if (frame[0] == ~0ull) return 0;  // never
  return Recurse(depth + 1) + frame[0];
}
void Overflow(WarpState* w) { AtomicAdd(Pointer(w, 0), Recurse(0)); }

void Trap(WarpState* w) {
  w->block->services->fault(w, static_cast<guest::FaultKind>(Arguments(w)[0]), static_cast<uint32_t>(Arguments(w)[1]),
                            0x1234, 0);
}

void Print(WarpState* w) {
  const uint64_t* a = Arguments(w);
  Pointer(w, 2)[0] = static_cast<uint64_t>(w->block->services->print(w, 0, a[0], a[1]));
}

void Assert(WarpState* w) {
  const uint64_t* a = Arguments(w);
  w->block->services->assert_fail(w, 3, a[0], a[1], 7, a[2], 0);
}

void Heap(WarpState* w) {
  const guest::GuestServices& services = *w->block->services;
  const uint64_t p = services.allocate(w, 64);
  Pointer(w, 0)[0] = p;
  Pointer(w, 0)[1] = services.allocate(w, 1 << 30);
  if (p != 0) *reinterpret_cast<uint64_t*>(p) = 1;
  services.release(w, p);
  services.release(w, p);
}

// data[round][block]: in every round each block adds its left neighbour's last value to its own.
void GridRounds(WarpState* w) {
  uint64_t* const data = Pointer(w, 0);
  const uint64_t blocks = w->block->grid[0];
  const uint64_t self = BlockIndex(w);
  for (uint64_t round = 0; round < Arguments(w)[1]; ++round) {
    if (w->warp == 0) {
      const uint64_t* const last = data + round * blocks;
      __atomic_store_n(&data[(round + 1) * blocks + self], last[self] + last[(self + blocks - 1) % blocks],
                       __ATOMIC_RELAXED);
    }
    w->block->services->grid_barrier(w, w->lanes);
  }
}

void Shared(WarpState* w) {
  if (w->warp != 0) return;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < w->block->shared_bytes; ++i) sum += w->block->shared[i];
  for (uint32_t i = 0; i < w->block->shared_bytes; ++i) w->block->shared[i] = 1;
  Pointer(w, 0)[BlockIndex(w)] = sum;
}

void Where(WarpState* w) {
  const guest::BlockState& b = *w->block;
  const uint64_t rank = b.cluster_ctaid[0] + b.cluster[0] * (b.cluster_ctaid[1] + b.cluster[1] * b.cluster_ctaid[2]);
  Pointer(w, 0)[BlockIndex(w)] = b.ctaid[0] | uint64_t{b.ctaid[1]} << 16 | uint64_t{b.ctaid[2]} << 32 | rank << 48;
}

void OddEven(WarpState* w) {
  if (BlockIndex(w) == 1) {
    __atomic_store_n(Pointer(w, 0), 1, __ATOMIC_RELEASE);
  } else {
    while (__atomic_load_n(Pointer(w, 0), __ATOMIC_ACQUIRE) == 0) w->block->services->yield(w);
  }
  AtomicAdd(Pointer(w, 1), 1);
}

void Chain(WarpState* w) {
  if (w->warp != 0) return;
  const uint64_t self = BlockIndex(w);
  while (__atomic_load_n(Pointer(w, 0), __ATOMIC_ACQUIRE) != self) w->block->services->yield(w);
  for (const uint64_t end = Now(w) + Arguments(w)[1]; Arguments(w)[1] != 0 && Now(w) < end;) {
  }
  __atomic_store_n(Pointer(w, 0), self + 1, __ATOMIC_RELEASE);
}

// Every block waits until all have arrived, `rounds` times.
void Meet(WarpState* w) {
  if (w->warp != 0) return;
  const uint64_t blocks = w->block->grid[0];
  for (uint64_t round = 1; round <= Arguments(w)[1]; ++round) {
    __atomic_fetch_add(Pointer(w, 0), 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(Pointer(w, 0), __ATOMIC_ACQUIRE) < round * blocks) w->block->services->yield(w);
  }
}

template <uint64_t value, bool yields = false>
void Stamp(WarpState* w) {
  if (w->warp != 0) return;
  AtomicAdd(Pointer(w, 1), 1);
  while (BlockIndex(w) == Arguments(w)[3] && __atomic_load_n(Pointer(w, 2), __ATOMIC_ACQUIRE) == 0) {
    if (yields) w->block->services->yield(w);
  }
  AtomicAdd(&Pointer(w, 0)[BlockIndex(w)], value);
}

template <bool yields, bool writes = false>
void StampOrBeginAnew(WarpState* w) {
  if (w->warp != 0) return;
  guest::BlockState& block = *w->block;
  if (writes) block.writes = 1;
  AtomicAdd(Pointer(w, 1), 1);
  do {
    if (yields) block.services->yield(w);
    if (__atomic_load_n(block.newest, __ATOMIC_RELAXED) != block.code) block.services->begin_anew(w);
  } while (BlockIndex(w) == Arguments(w)[3] && __atomic_load_n(Pointer(w, 2), __ATOMIC_ACQUIRE) == 0);
  AtomicAdd(&Pointer(w, 0)[BlockIndex(w)], 1);
}

void FaultAtStamp(WarpState* w) { w->block->services->fault(w, guest::FaultKind::kLaunchFailed, 0, 0, 0); }

uint64_t* InCluster(WarpState* w, uint64_t rank, uint64_t word) {
  return reinterpret_cast<uint64_t*>(w->block->shared + ((1 + rank) << guest::kSlotShift)) + word;
}

void MeetCluster(WarpState* w) {
  w->block->services->cluster_barrier(w, w->lanes, guest::BarrierMode::kArrive);
  w->block->services->cluster_barrier(w, w->lanes, guest::BarrierMode::kWait);
}

void ClusterBlock(WarpState* w) {
  const uint64_t blocks = w->block->cluster[0], rank = w->block->cluster_ctaid[0];
  auto* const own = reinterpret_cast<uint64_t*>(w->block->shared);
  if (w->warp == 0) own[0] = rank + 1;
  for (uint64_t round = 0; round < Arguments(w)[1]; ++round) {
    MeetCluster(w);
    if (w->warp == round % 2) own[(round + 1) % 2] = own[round % 2] + *InCluster(w, (rank + 1) % blocks, round % 2);
  }
  MeetCluster(w);
  if (w->warp == 0) Pointer(w, 0)[BlockIndex(w)] = own[Arguments(w)[1] % 2];
}

void Apart(WarpState* w) {
  if (w->block->cluster_ctaid[0] == 0) {
    w->block->services->cluster_barrier(w, w->lanes, guest::BarrierMode::kArrive);
    w->block->services->cluster_barrier(w, w->lanes, guest::BarrierMode::kWait);
  } else {
    w->block->services->grid_barrier(w, w->lanes);
  }
}

void ComputeBlock(WarpState* w) { Pointer(w, 0)[BlockIndex(w)] = Compute(BlockIndex(w), Arguments(w)[1]); }

// Goes through a row by itself, as compiled code does (compiler/link/block_loop.h).
void Row(WarpState* warps, uint32_t) {
  guest::BlockState& block = *warps->block;
  uint32_t x = block.ctaid[0];
  const uint32_t end = __atomic_load_n(&block.ctaid_end, __ATOMIC_RELAXED);
  do {
    AtomicAdd(Pointer(warps, 0) + x, 1);
    AtomicAdd(Pointer(warps, 1) + x, Compute(x, Arguments(warps)[2]));
    __atomic_store_n(block.ctaid, ++x, __ATOMIC_RELAXED);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } while (x < __atomic_load_n(&block.ctaid_end, __ATOMIC_RELAXED));
  if (x < end) AtomicAdd(Pointer(warps, 3), 1);
}

// Leaves text on its own stack and reports the address.
void Whisper(WarpState* w) {
  volatile char text[256];
  for (size_t i = 0; i + 1 < sizeof text; ++i) text[i] = 's';
  text[sizeof text - 1] = 0;
  Pointer(w, 0)[0] = reinterpret_cast<uint64_t>(&text[0]);
}

struct TestKernel final : LoadedKernel {
  TestKernel(const char* name, guest::RunWarps run, uint32_t flags, uint32_t static_shared_bytes = 0,
             uint32_t more_bytes = 0, const guest::SourceLocation* where = &location) {
    own = KernelDescriptor{
        .magic = guest::kKernelMagic,
        .abi_version = guest::kAbiVersion,
        .name = name,
        .run = run,
        .flags = flags,
        .param_bytes = 32,
        .static_shared_bytes = static_shared_bytes,
        .local_bytes = 16 + more_bytes,
        .stack_bytes = 4096 + more_bytes,
        .block = {0, 0, 0},
        .location_count = 1,
        .locations = where,
    };
    descriptor = &own;
  }
  static constexpr guest::SourceLocation location{.ptx_line = 42, .source_line = 17, .source_file = "test.cu"};
  static constexpr guest::SourceLocation next_location{.ptx_line = 43, .source_line = 18, .source_file = "test.cu"};
  KernelDescriptor own{};
};

using Kernels = std::map<std::string, std::shared_ptr<const TestKernel>, std::less<>>;

Kernels AllKernels() {
  constexpr uint32_t kYields = guest::kYields, kAnyOrder = guest::kBlocksInAnyOrder;
  constexpr uint32_t kSharedBytes = 8192;
  Kernels kernels;
  const auto add = [&kernels](const char* name, guest::RunWarps run, uint32_t flags, auto... more) {
    kernels[name] = std::make_shared<TestKernel>(name, run, flags, more...);
  };
  add("empty", &Each<&Empty>, kAnyOrder);
  add("add", &Each<&Add>, kAnyOrder);
  add("index", &Each<&Index>, kAnyOrder);
  add("slow", &Each<&Slow>, kAnyOrder);
  add("turns", &Each<&Turns>, kAnyOrder);
  add("turns_in_order", &Each<&Turns>, 0);
  add("turns_to_print", &Each<&Turns>, kAnyOrder | guest::kUsesPrint);
  add("endless", &Each<&Endless>, 0);
  add("row", &Row, kAnyOrder);
  add("wait", &Each<&WaitFor>, kYields);
  add("sum", &Each<&Sum>, kYields, kSharedBytes);
  add("vote", &Each<&Vote>, kYields);
  add("half", &Each<&Half>, kYields);
  add("early", &Each<&Early>, kYields);
  add("store", &Each<&Store>, kAnyOrder);
  add("divide", &Each<&Divide>, 0);
  add("illegal", &Each<&Illegal>, 0);
  add("overflow", &Each<&Overflow>, 0);
  add("trap", &Each<&Trap>, 0);
  add("print", &Each<&Print>, guest::kUsesPrint);
  add("assert", &Each<&Assert>, 0);
  add("heap", &Each<&Heap>, guest::kUsesHeap);
  add("grid", &Each<&GridRounds>, kYields | guest::kCooperative);
  add("shared", &Each<&Shared>, kAnyOrder, kSharedBytes);
  add("where", &Each<&Where>, kAnyOrder);
  add("compute", &Each<&ComputeBlock>, kAnyOrder);
  add("odd_even", &Each<&OddEven>, kYields);
  add("whisper", &Each<&Whisper>, 0);
  add("chain", &Each<&Chain>, kYields);
  add("barriers", &Each<&Barriers>, kYields);
  add("cluster", &Each<&ClusterBlock>, kYields, kSharedBytes);
  add("apart", &Each<&Apart>, kYields | guest::kCooperative);
  add("meet", &Each<&Meet>, kYields);
  add("stamp", &Each<&Stamp<1000>>, 0);
  add("stamp.quick", &Each<&Stamp<1>>, 0, 0, 16384);
  add("stamp.quick.yields", &Each<&Stamp<1, true>>, kYields, 0, 32768);
  add("stamp.quick.anew", &Each<&StampOrBeginAnew<false>>, 0, 0, 16384);
  add("stamp.quick.anew.yields", &Each<&StampOrBeginAnew<true>>, kYields, 0, 32768);
  add("stamp.quick.writes", &Each<&StampOrBeginAnew<false, true>>, 0, 0, 16384);
  add("stamp.faults", &Each<&FaultAtStamp>, 0, 0, 0, &TestKernel::next_location);
  return kernels;
}

class TestCode final : public CodeSource {
 public:
  Result<std::shared_ptr<const module::ModuleIndex>> Index(std::span<const uint8_t> image, const Cancelled&) override {
    const std::string name(image.begin(), image.end());
    const auto found = kernels_.find(name);
    if (found == kernels_.end()) return Fail(cuda::CUDA_ERROR_INVALID_PTX, "line 1: no such kernel: " + name);
    auto index = std::make_shared<module::ModuleIndex>();
    index->kernels.push_back({{.name = name,
                               .params = {{0, 8}, {8, 8}, {16, 8}, {24, 8}},
                               .param_bytes = 32,
                               .static_shared_bytes = found->second->own.static_shared_bytes}});
    index->variables.push_back({.name = "v", .offset = kTestVariableOffset, .bytes = 8});
    index->segment_bytes = 64;
    index->image.resize(kTestVariableOffset + 4);
    std::memcpy(index->image.data() + kTestVariableOffset, &kTestVariableValue, 4);
    index->relocations.push_back(
        {.offset = 32, .addend = kTestVariableOffset, .kind = module::Relocation::Kind::kSegment});
    index->relocations.push_back({.offset = 40, .addend = 2, .kind = module::Relocation::Kind::kFunction});
    return index;
  }

  Result<std::shared_ptr<const LoadedKernel>> Kernel(std::span<const uint8_t>, const module::ModuleIndex& index,
                                                     uint32_t kernel, const uint32_t*, const Cancelled&) override {
    return kernels_.find(index.kernels[kernel].name)->second;
  }

 private:
  const Kernels kernels_ = AllKernels();
};

}  // namespace

uint64_t Compute(uint64_t seed, uint64_t rounds) {
  double x[8];
  uint64_t n[4];
  for (int i = 0; i < 8; ++i) x[i] = static_cast<double>(seed + i) + 0.5;
  for (int i = 0; i < 4; ++i) n[i] = seed * 77 + i;
  for (uint64_t round = 0; round < rounds; ++round) {
    for (double& value : x) value = value * 0.999 + 1.25;
    for (uint64_t& value : n) value = value * 6364136223846793005u + 1442695040888963407u;
  }
  uint64_t result = 0;
  for (const double value : x) result = result * 31 + static_cast<uint64_t>(value * 1e9);
  for (const uint64_t value : n) result = result * 31 + value;
  return result;
}

uint64_t ClusterRounds(uint64_t rank, uint64_t blocks, uint64_t rounds) {
  std::vector<uint64_t> values(blocks);
  for (uint64_t i = 0; i < blocks; ++i) values[i] = i + 1;
  for (; rounds != 0; --rounds) {
    const std::vector<uint64_t> before = values;
    for (uint64_t i = 0; i < blocks; ++i) values[i] += before[(i + 1) % blocks];
  }
  return values[rank];
}

std::shared_ptr<CodeSource> NewTestCode() { return std::make_shared<TestCode>(); }

}  // namespace tutti::device::cpu
