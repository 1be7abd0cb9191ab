#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

using StreamTest = DriverTest;

// A kernel that holds its stream until released.
class Gate {
 public:
  explicit Gate(CUfunction spin, CUstream stream) {
    CU_EXPECT(cuMemAllocManaged(&flag_, 4, CU_MEM_ATTACH_GLOBAL));
    *word() = 0;
    void* parameters[] = {&flag_};
    CU_EXPECT(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  }
  void Open() { __atomic_store_n(word(), 1, __ATOMIC_SEQ_CST); }
  ~Gate() {
    Open();
    CU_EXPECT(cuCtxSynchronize());
    CU_EXPECT(cuMemFree_v2(flag_));
  }

 private:
  uint32_t* word() { return reinterpret_cast<uint32_t*>(flag_); }
  CUdeviceptr flag_ = 0;
};

TEST_F(StreamTest, HandlesThatAreNoStreamsAreRefused) {
  CUstream stream;
  CU_ASSERT(cuStreamCreate(&stream, 0));
  CU_EXPECT(cuStreamDestroy_v2(stream));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamQuery(reinterpret_cast<CUstream>(0x1234)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamQuery(reinterpret_cast<CUstream>(this)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamTest, FlagsAndPrioritiesAreKept) {
  CUstream stream;
  int priority = 0;
  unsigned flags = 0;
  CU_ASSERT(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -100));
  CU_EXPECT(cuStreamGetPriority(stream, &priority));
  CU_EXPECT(cuStreamGetFlags(stream, &flags));
  EXPECT_EQ(priority, -5);
  EXPECT_EQ(flags, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  CU_EXPECT(cuStreamDestroy_v2(stream));
}

TEST_F(StreamTest, TheLegacyStreamWaitsForBlockingStreamsOnly) {
  CUstream blocking, free;
  CU_ASSERT(cuStreamCreate(&blocking, 0));
  CU_ASSERT(cuStreamCreate(&free, CU_STREAM_NON_BLOCKING));
  {
    Gate gate(Function("spin"), free);
    EXPECT_EQ(cuStreamQuery(free), CUDA_ERROR_NOT_READY);
    CU_EXPECT(cuStreamSynchronize(nullptr));
    CU_EXPECT(cuStreamQuery(nullptr));
  }
  {
    Gate gate(Function("spin"), blocking);
    const CUdeviceptr data = Allocate(4);
    EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    CU_EXPECT(cuMemsetD32Async(data, 1, 1, nullptr));
    CU_EXPECT(cuStreamQuery(free));
    gate.Open();
    CU_EXPECT(cuStreamSynchronize(nullptr));
    CU_EXPECT(cuStreamQuery(blocking));
    CU_EXPECT(cuMemFree_v2(data));
  }
  CU_EXPECT(cuStreamDestroy_v2(blocking));
  CU_EXPECT(cuStreamDestroy_v2(free));
}

TEST_F(StreamTest, AStreamWaitsForAnEventOfAnother) {
  CUstream first, second;
  CUevent event;
  CU_ASSERT(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  {
    Gate gate(Function("spin"), first);
    CU_ASSERT(cuEventRecord(event, first));
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    CU_ASSERT(cuStreamWaitEvent(second, event, 0));
    const CUdeviceptr data = Allocate(400);
    CU_ASSERT(cuMemsetD32Async(data, 0, 100, first));
    CU_ASSERT(AddOne(data, 100, second));
    EXPECT_EQ(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
    gate.Open();
    CU_EXPECT(cuStreamSynchronize(second));
    CU_EXPECT(cuEventQuery(event));
    CU_EXPECT(cuMemFree_v2(data));
  }
  CU_EXPECT(cuEventDestroy_v2(event));
  EXPECT_EQ(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE);
  CU_EXPECT(cuStreamDestroy_v2(first));
  CU_EXPECT(cuStreamDestroy_v2(second));
}

// Two streams and an event without timing. A host function holds up what is recorded, so it reaches the device at once,
// in one piece.
class EventTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    CU_ASSERT(cuStreamCreate(&first_, CU_STREAM_NON_BLOCKING));
    CU_ASSERT(cuStreamCreate(&second_, CU_STREAM_NON_BLOCKING));
    CU_ASSERT(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
    CU_ASSERT(cuMemHostAlloc(reinterpret_cast<void**>(&flag_), 4, 0));
    data_ = Allocate(4);
    CU_ASSERT(AddOne(data_, 1, first_));  // loads the code
    CU_ASSERT(cuStreamSynchronize(first_));
  }
  void TearDown() override {
    Open();
    CU_EXPECT(cuCtxSynchronize());
    CU_EXPECT(cuMemFree_v2(data_));
    CU_EXPECT(cuMemFreeHost(flag_));
    CU_EXPECT(cuEventDestroy_v2(event_));
    CU_EXPECT(cuStreamDestroy_v2(first_));
    CU_EXPECT(cuStreamDestroy_v2(second_));
    StreamTest::TearDown();
  }
  // In the first stream: a kernel, the event, and a kernel that runs until the flag is set.
  void RecordBeforeASpinningKernel(const std::function<void()>& then) {
    __atomic_store_n(flag_, 0, __ATOMIC_SEQ_CST);
    held_ = true;
    CU_ASSERT(cuLaunchHostFunc(
        first_,
        [](void* held) {
          while (*static_cast<std::atomic<bool>*>(held)) std::this_thread::yield();
        },
        &held_));
    CU_ASSERT(AddOne(data_, 1, first_));
    CU_ASSERT(cuEventRecord(event_, first_));
    void* parameters[] = {&flag_};
    CU_ASSERT(Launch(Function("spin"), 1, 1, parameters, first_));
    then();
    held_ = false;
  }
  void Open() { __atomic_store_n(flag_, 1, __ATOMIC_SEQ_CST); }
  // True as soon as `done` says so; false, after long, for a program that would wait for ever.
  static bool Becomes(const std::function<CUresult()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (done() == CUDA_ERROR_NOT_READY) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  static constexpr int kRounds = 20;
  CUstream first_ = nullptr, second_ = nullptr;
  CUevent event_ = nullptr;
  uint32_t* flag_ = nullptr;
  CUdeviceptr data_ = 0;
  std::atomic<bool> held_{false};
};

TEST_F(EventTest, AnEventIsReachedThoughWhatIsBehindItIsNot) {
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    RecordBeforeASpinningKernel([] {});
    EXPECT_TRUE(Becomes([this] { return cuEventQuery(event_); }));
    Open();
    CU_ASSERT(cuStreamSynchronize(first_));
  }
}

TEST_F(EventTest, AStreamWaitsForAnEventAndForNothingBehindIt) {
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    RecordBeforeASpinningKernel([this] {
      CU_ASSERT(cuStreamWaitEvent(second_, event_, 0));
      CU_ASSERT(AddOne(data_, 1, second_));
    });
    EXPECT_TRUE(Becomes([this] { return cuStreamQuery(second_); }));
    Open();
    CU_ASSERT(cuStreamSynchronize(first_));
  }
}

// Where the legacy stream has work it is recorded behind that, too.
TEST_F(EventTest, AnEventOfABlockingStreamIsReachedThoughWhatIsBehindItIsNot) {
  CU_ASSERT(cuStreamDestroy_v2(first_));
  CU_ASSERT(cuStreamCreate(&first_, 0));
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    CU_ASSERT(AddOne(data_, 1, nullptr));
    RecordBeforeASpinningKernel([] {});
    EXPECT_TRUE(Becomes([this] { return cuEventQuery(event_); }));
    Open();
    CU_ASSERT(cuStreamSynchronize(first_));
  }
}

TEST_F(StreamTest, EventsMeasureTime) {
  CUevent start, end, untimed;
  CU_ASSERT(cuEventCreate(&start, 0));
  CU_ASSERT(cuEventCreate(&end, 0));
  CU_ASSERT(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime_v2(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE);
  CU_ASSERT(cuEventRecord(start, nullptr));
  const CUdeviceptr data = Allocate(4 << 20);
  CU_ASSERT(AddOne(data, 1 << 20));
  CU_ASSERT(cuEventRecord(end, nullptr));
  CU_ASSERT(cuEventRecord(untimed, nullptr));
  CU_ASSERT(cuEventSynchronize(end));
  CU_ASSERT(cuEventElapsedTime_v2(&milliseconds, start, end));
  EXPECT_GT(milliseconds, 0);
  EXPECT_EQ(cuEventElapsedTime_v2(&milliseconds, start, untimed), CUDA_ERROR_INVALID_HANDLE);
  for (CUevent event : {start, end, untimed}) CU_EXPECT(cuEventDestroy_v2(event));
  CU_EXPECT(cuMemFree_v2(data));
}

// Recorded first in a stream that is held up, then in one that is not.
TEST_F(StreamTest, AnEventHasTheTimeOfItsLastRecording) {
  void* flag = nullptr;
  CU_ASSERT(cuMemHostAlloc(&flag, 4, 0));
  *static_cast<volatile uint32_t*>(flag) = 0;
  CUstream slow, fast;
  CUevent event, after;
  CU_ASSERT(cuStreamCreate(&slow, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuStreamCreate(&fast, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuEventCreate(&event, 0));
  CU_ASSERT(cuEventCreate(&after, 0));
  void* parameters[] = {&flag};
  CU_ASSERT(Launch(Function("spin"), 1, 1, parameters, slow));
  CU_ASSERT(cuEventRecord(event, slow));
  CU_ASSERT(cuEventRecord(event, fast));
  CU_ASSERT(cuEventRecord(after, fast));
  CU_ASSERT(cuEventSynchronize(after));
  *static_cast<volatile uint32_t*>(flag) = 1;
  CU_ASSERT(cuStreamSynchronize(slow));
  float milliseconds = -1;
  CU_ASSERT(cuEventElapsedTime_v2(&milliseconds, event, after));
  EXPECT_GE(milliseconds, 0);
  for (CUevent each : {event, after}) CU_EXPECT(cuEventDestroy_v2(each));
  for (CUstream each : {slow, fast}) CU_EXPECT(cuStreamDestroy_v2(each));
  CU_EXPECT(cuMemFreeHost(flag));
}

TEST_F(StreamTest, HostFunctionsRunInStreamOrder) {
  struct State {
    CUdeviceptr data;
    uint32_t* pinned;
    std::atomic<uint32_t> seen{0};
    std::atomic<int> status{-1};
  } state;
  CUstream stream;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuMemAllocHost_v2(reinterpret_cast<void**>(&state.pinned), 4));
  *state.pinned = 5;
  CU_ASSERT(AddOne(reinterpret_cast<CUdeviceptr>(state.pinned), 1, stream));
  CU_ASSERT(cuLaunchHostFunc(
      stream, [](void* user) { static_cast<State*>(user)->seen = *static_cast<State*>(user)->pinned; }, &state));
  CU_ASSERT(AddOne(reinterpret_cast<CUdeviceptr>(state.pinned), 1, stream));
  CU_ASSERT(cuStreamAddCallback(
      stream, [](CUstream, CUresult status, void* user) { static_cast<State*>(user)->status = status; }, &state, 0));
  CU_ASSERT(cuStreamSynchronize(stream));
  EXPECT_EQ(state.seen, 6u);
  EXPECT_EQ(state.status, CUDA_SUCCESS);
  EXPECT_EQ(*state.pinned, 7u);
  CU_EXPECT(cuMemFreeHost(state.pinned));
  CU_EXPECT(cuStreamDestroy_v2(stream));
}

TEST_F(StreamTest, EachThreadHasADefaultStreamOfItsOwn) {
  constexpr int kThreads = 4;
  unsigned long long ids[kThreads] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, &ids, i] {
      CU_EXPECT(cuCtxSetCurrent(context_));
      CU_EXPECT(cuStreamGetId(reinterpret_cast<CUstream>(kStreamPerThreadHandle), &ids[i]));
      unsigned long long by_entry = 0;
      CU_EXPECT(cuStreamGetId_ptsz(nullptr, &by_entry));
      EXPECT_EQ(by_entry, ids[i]);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[2], ids[3]);
  unsigned long long legacy = 0;
  CU_EXPECT(cuStreamGetId(nullptr, &legacy));
  EXPECT_NE(legacy, ids[0]);
}

TEST_F(StreamTest, ManyStreamsComeAndGo) {
  const CUdeviceptr data = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(data, 0, 1));
  for (int i = 0; i < 500; ++i) {
    CUstream stream;
    CU_ASSERT(cuStreamCreate(&stream, 0));
    CU_ASSERT(AddOne(data, 1, stream));
    CU_ASSERT(cuStreamSynchronize(stream));
    CU_ASSERT(cuStreamDestroy_v2(stream));
  }
  EXPECT_EQ(Read(data, 1)[0], 500u);
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(StreamTest, ThreadsLaunchIntoOneStreamAtOnce) {
  constexpr int kThreads = 4, kLaunches = 200;
  const CUdeviceptr data = Allocate(kThreads * 4);
  CU_ASSERT(cuMemsetD32_v2(data, 0, kThreads));
  CUstream stream;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUfunction add_one = Function("add_one");
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([=, this] {
      CU_EXPECT(cuCtxSetCurrent(context_));
      CUdeviceptr mine = data + i * 4;
      uint32_t one = 1;
      void* parameters[] = {&mine, &one};
      for (int j = 0; j < kLaunches; ++j)
        CU_EXPECT(cuLaunchKernel(add_one, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
    });
  }
  for (auto& thread : threads) thread.join();
  CU_EXPECT(cuStreamSynchronize(stream));
  EXPECT_EQ(Read(data, kThreads), std::vector<uint32_t>(kThreads, kLaunches));
  CU_EXPECT(cuStreamDestroy_v2(stream));
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(StreamTest, NothingIsBeingCaptured) {
  CUstreamCaptureStatus status = -1;
  uint64_t id = 7;
  CU_EXPECT(cuStreamIsCapturing(nullptr, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  CU_EXPECT(cuStreamGetCaptureInfo(nullptr, &status, &id));
  EXPECT_EQ(id, 0u);
}

}  // namespace
}  // namespace tutti::compat
