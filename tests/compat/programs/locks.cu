// Threads of one warp that wait for each other: all common forms of locks, flags, tickets. Independent thread
// scheduling (since Volta) guarantees that all of them end. (locks_debug.cu is the same without optimisation.)
#include <cstring>

#include "program.h"

constexpr int kThreads = 64;

__device__ __noinline__ void Take(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
}
__device__ __noinline__ void Give(int* lock) {
  __threadfence();
  atomicExch(lock, 0);
}

struct Words {
  int lock[8];
  int sum;
  int flag[kThreads];
  int next[kThreads];
};

__global__ void WithinTheLoop(Words* w) {
  bool done = false;
  while (!done) {
    if (atomicCAS(w->lock, 0, 1) == 0) {
      __threadfence();
      w->sum += 1;
      __threadfence();
      atomicExch(w->lock, 0);
      done = true;
    }
  }
}

__global__ void BehindTheLoop(volatile Words* w) {
  int* lock = const_cast<int*>(w->lock);
  for (int i = 0; i < 3; ++i) {
    while (atomicCAS(lock, 0, 1) != 0);
    w->sum += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
  __syncthreads();
}

__global__ void DoWhile(volatile Words* w) {
  __shared__ int lock;
  if (threadIdx.x == 0) lock = 0;
  __syncthreads();
  bool got;
  do {
    got = atomicExch(&lock, 1) == 0;
    if (got) {
      w->sum += 1;
      __threadfence_block();
      atomicExch(&lock, 0);
    }
  } while (!got);
}

__global__ void InFunctions(volatile Words* w) {
  Take(const_cast<int*>(w->lock));
  for (int i = 0; i < 4; ++i) w->sum += static_cast<int>(threadIdx.x);
  Give(const_cast<int*>(w->lock));
}

__global__ void Nested(volatile Words* w) {
  int* lock = const_cast<int*>(w->lock);
  const int a = threadIdx.x % 3;
  while (atomicCAS(lock + a, 0, 1) != 0) __nanosleep(20);
  while (atomicCAS(lock + 3, 0, 1) != 0);
  w->sum += 1;
  __threadfence();
  atomicExch(lock + 3, 0);
  atomicExch(lock + a, 0);
}

__global__ void TwoInOneLoop(volatile Words* w) {
  int* lock = const_cast<int*>(w->lock);
  const int a = threadIdx.x & 1;
  for (bool done = false; !done;) {
    if (atomicCAS(lock + a, 0, 1) != 0) continue;
    if (atomicCAS(lock + 1 - a, 0, 1) == 0) {
      w->sum += 1;
      __threadfence();
      atomicExch(lock + 1 - a, 0);
      done = true;
    }
    atomicExch(lock + a, 0);
  }
}

__global__ void HashTable(volatile Words* w) {
  const int t = threadIdx.x, bucket = t * 5 & 7;
  int* lock = const_cast<int*>(w->lock) + bucket;
  for (bool leave = false; !leave;) {
    if (atomicExch(lock, 1) == 0) {
      w->next[t] = w->flag[bucket];
      w->flag[bucket] = t + 1;
      __threadfence();
      atomicExch(lock, 0);
      leave = true;
    }
  }
  __syncthreads();
  if (t == 0) {
    for (int b = 0; b < 8; ++b) {
      for (int node = w->flag[b]; node != 0; node = w->next[node - 1]) w->sum += 1;
    }
  }
}

__global__ void ChainForwards(volatile Words* w) {
  const int t = threadIdx.x;
  if (t > 0) {
    while (w->flag[t - 1] == 0);
  }
  w->sum = w->sum * 3 + t;
  __threadfence();
  w->flag[t] = 1;
}

__global__ void ChainBackwards(volatile Words* w) {
  const int t = threadIdx.x;
  while (t + 1 < kThreads && w->flag[t + 1] == 0) __nanosleep(10);
  w->sum = w->sum * 3 + t;
  __threadfence();
  w->flag[t] = 1;
}

__global__ void AcquireRelease(Words* w) {
  const int t = threadIdx.x;
  if (t > 0) {
    int seen;
    do {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(&w->flag[t - 1]) : "memory");
    } while (seen == 0);
  }
  w->sum = w->sum * 3 + t;
  asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(&w->flag[t]) : "memory");
}

__global__ void Tickets(volatile Words* w) {
  int* lock = const_cast<int*>(w->lock);
  const int mine = atomicAdd(lock, 1);
  while (atomicAdd(lock + 1, 0) != mine);
  w->sum += 1;
  __threadfence();
  atomicAdd(lock + 1, 1);
}

__global__ void OneWaitsForAll(volatile Words* w) {
  if (threadIdx.x == 0) {
    while (w->flag[0] < kThreads - 1);
    w->sum = w->flag[0];
  } else {
    atomicAdd(const_cast<int*>(w->flag), 1);
  }
}

// Functions that stay functions: one calls itself, others are known by their address.
__device__ __noinline__ int TakeDeep(int* lock, int depth) {
  if (depth != 0) return TakeDeep(lock, depth - 1) + 1;
  Take(lock);
  return 1;
}

__global__ void InRecursion(volatile Words* w) {
  int* lock = const_cast<int*>(w->lock);
  for (int i = 0; i < 3; ++i) {
    const int depth = TakeDeep(lock, threadIdx.x % 4);
    w->sum += depth;
    Give(lock);
  }
}

__device__ __noinline__ void HandOverHand(volatile Words* w, int i) {
  int* lock = const_cast<int*>(w->lock) + i;
  Take(lock);
  const int before = w->flag[i];
  if (i + 1 < 8) HandOverHand(w, i + 1);
  w->flag[i] = before + 1;
  if (i == 0) w->sum = w->flag[7];
  Give(lock);
}

__global__ void DownARecursion(volatile Words* w) { HandOverHand(w, 0); }

__device__ __noinline__ void TakeByExchange(int* lock) {
  while (atomicExch(lock, 1) != 0) {
  }
  __threadfence();
}
__device__ void (*const volatile takes[2])(int*) = {Take, TakeByExchange};

__global__ void ThroughPointers(volatile Words* w) {
  int* lock = const_cast<int*>(w->lock);
  void (*take)(int*) = takes[threadIdx.x & 1];
  for (int i = 0; i < 2; ++i) {
    take(lock);
    w->sum += 1;
    Give(lock);
  }
}

int main() {
  unsigned forwards = 0, backwards = 0;
  for (unsigned t = 0; t < kThreads; ++t) {
    forwards = forwards * 3 + t;
    backwards = backwards * 3 + (kThreads - 1 - t);
  }
  const int in_order = static_cast<int>(forwards), in_reverse = static_cast<int>(backwards);
  const struct {
    const char* name;
    void* kernel;
    int sum;
  } cases[] = {
      {"WithinTheLoop", (void*)WithinTheLoop, kThreads},
      {"BehindTheLoop", (void*)BehindTheLoop, 3 * kThreads},
      {"DoWhile", (void*)DoWhile, kThreads},
      {"InFunctions", (void*)InFunctions, 4 * kThreads * (kThreads - 1) / 2},
      {"InRecursion", (void*)InRecursion, 3 * (1 + 2 + 3 + 4) * kThreads / 4},
      {"DownARecursion", (void*)DownARecursion, kThreads},
      {"ThroughPointers", (void*)ThroughPointers, 2 * kThreads},
      {"Nested", (void*)Nested, kThreads},
      {"TwoInOneLoop", (void*)TwoInOneLoop, kThreads},
      {"HashTable", (void*)HashTable, kThreads},
      {"ChainForwards", (void*)ChainForwards, in_order},
      {"ChainBackwards", (void*)ChainBackwards, in_reverse},
      {"AcquireRelease", (void*)AcquireRelease, in_order},
      {"Tickets", (void*)Tickets, kThreads},
      {"OneWaitsForAll", (void*)OneWaitsForAll, kThreads - 1},
  };
  Words* words;
  CUDA(cudaMalloc(&words, sizeof *words));
  for (const auto& c : cases) {
    CUDA(cudaMemset(words, 0, sizeof *words));
    void* arguments[] = {&words};
    CUDA(cudaLaunchKernel(c.kernel, dim3(1), dim3(kThreads), arguments, 0, nullptr));
    CUDA(cudaDeviceSynchronize());
    Words result;
    CUDA(cudaMemcpy(&result, words, sizeof result, cudaMemcpyDeviceToHost));
    if (result.sum != c.sum) std::fprintf(stderr, "%s:\n", c.name);
    CHECK_EQ(result.sum, c.sum);
  }
  CUDA(cudaFree(words));
  return Verdict();
}
