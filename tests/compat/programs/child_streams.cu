// Streams, events, copies and fills in kernels: what is launched in one stream runs in order, the tail last.
#include "program.h"

// Notes in which order grids run: the place of each in `log`.
struct Log {
  int next;
  int entries[64];
};
__device__ void Note(Log* log, int what) { log->entries[atomicAdd(&log->next, 1)] = what; }
__device__ void Spend(long long clocks) {
  for (const long long begin = clock64(); clock64() - begin < clocks;) {
  }
}
__global__ void NoteIt(Log* log, int what, long long clocks) {
  Spend(clocks);
  Note(log, what);
}

void Expect(Log* log, int line, const int* entries, int count) {
  CUDA(cudaDeviceSynchronize());
  bool same = log->next == count;
  for (int i = 0; i < count && same; ++i) same = log->entries[i] == entries[i];
  if (!same) {
    std::fprintf(stderr, "line %d: %d entries:", line, log->next);
    for (int i = 0; i < log->next && i < 64; ++i) std::fprintf(stderr, " %d", log->entries[i]);
    std::fprintf(stderr, "\n");
    ++failures;
  }
  log->next = 0;
}

constexpr long long kLong = 3000000;

// All threads of a block share its stream.
__global__ void InTheBlocksStream(Log* log) {
  if (threadIdx.x == 0) NoteIt<<<1, 1>>>(log, 1, kLong);
  __syncthreads();
  if (threadIdx.x == 1) NoteIt<<<1, 1>>>(log, 2, 0);
  __syncthreads();
  if (threadIdx.x == 40) NoteIt<<<1, 1>>>(log, 3, 0);
}

// A grid of the tail waits for the others, and is followed by its own tail, then by the next one.
__global__ void HasATail(Log* log, int what) {
  NoteIt<<<1, 1, 0, cudaStreamTailLaunch>>>(log, what + 1, 0);
  Note(log, what);
}
__global__ void LaunchesAtItsTail(Log* log) {
  HasATail<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 4);
  NoteIt<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 6, 0);
  NoteIt<<<1, 1, 0, cudaStreamFireAndForget>>>(log, 2, kLong);
  Spend(kLong / 2);
  Note(log, 1);
  NoteIt<<<1, 1>>>(log, 3, 3 * kLong);
}

// A stream waits for another by an event.
__global__ void WaitsByEvent(Log* log) {
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  NoteIt<<<1, 1, 0, first>>>(log, 1, kLong);
  cudaEventRecord(event, first);
  cudaStreamWaitEvent(second, event, 0);
  NoteIt<<<1, 1, 0, second>>>(log, 2, 0);
  cudaEventRecord(event, second);
  cudaStreamWaitEvent(nullptr, event, 0);
  NoteIt<<<1, 1>>>(log, 3, 0);
  cudaEventDestroy(event);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

__global__ void CopyAndFill(int* data, int pitch_words) {
  cudaMemsetAsync(data, 0x11, 64);
  cudaMemcpyAsync(data + 16, data, 64, cudaMemcpyDeviceToDevice);
  cudaMemset2DAsync(data + 32, pitch_words * 4, 0x22, 8, 2);
  cudaMemcpy2DAsync(data + 64, 8, data + 32, pitch_words * 4, 8, 2, cudaMemcpyDeviceToDevice);
}

// Each thread's streams are its own: handles differ, and what is behind them does not wait.
__global__ void EachThreadHasStreams(int* out, int* bad) {
  cudaStream_t stream;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) atomicAdd(bad, 1);
  __shared__ cudaStream_t all[64];
  all[threadIdx.x] = stream;
  __syncthreads();
  for (int i = 0; i < 64; ++i) {
    if (i != threadIdx.x && all[i] == stream) atomicAdd(bad, 1);
  }
  cudaMemsetAsync(out + threadIdx.x, threadIdx.x, 4, stream);
  if (cudaStreamDestroy(stream) != cudaSuccess) atomicAdd(bad, 1);
}

// A kernel that goes on by its tail, longer than launches may be nested.
__global__ void GoesOn(int* count, int rounds) {
  if (++*count < rounds) GoesOn<<<1, 1, 0, cudaStreamTailLaunch>>>(count, rounds);
}

int main() {
  Log* log;
  CUDA(cudaMallocManaged(&log, sizeof *log));
  log->next = 0;
  const int three[] = {1, 2, 3}, six[] = {1, 2, 3, 4, 5, 6};
  InTheBlocksStream<<<1, 64>>>(log);
  Expect(log, __LINE__, three, 3);
  WaitsByEvent<<<1, 1>>>(log);
  Expect(log, __LINE__, three, 3);
  LaunchesAtItsTail<<<1, 1>>>(log);
  CUDA(cudaDeviceSynchronize());
  // The first three do not wait for each other.
  int* const entries = log->entries;
  CHECK_EQ(entries[0] + entries[1] + entries[2], 6);
  for (int i = 0; i < 3; ++i) entries[i] = i + 1;
  Expect(log, __LINE__, six, 6);

  int* data;
  CUDA(cudaMallocManaged(&data, 512));
  CUDA(cudaMemset(data, 0, 512));
  CopyAndFill<<<1, 1>>>(data, 4);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(data[15], 0x11111111);
  CHECK_EQ(data[31], 0x11111111);
  CHECK_EQ(data[33], 0x22222222);
  CHECK_EQ(data[34], 0);
  CHECK_EQ(data[37], 0x22222222);
  CHECK_EQ(data[67], 0x22222222);
  CHECK_EQ(data[68], 0);

  int* bad = data + 100;
  *bad = 0;
  EachThreadHasStreams<<<1, 64>>>(data, bad);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(*bad, 0);
  for (int i = 0; i < 64; ++i) CHECK_EQ(data[i], i * 0x01010101);

  data[0] = 0;
  GoesOn<<<1, 1>>>(data, 500);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(data[0], 500);
  return Verdict();
}
