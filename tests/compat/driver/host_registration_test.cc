// Registered host memory: it stays the program's own, and copies of it are in stream order without blocking the caller.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <thread>

#include "cuda/device_attribute.h"
#include "driver/fixture.h"

namespace tutti::compat {
namespace {

constexpr size_t kCount = 1 << 16;

class HostRegistrationTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    void* flag = nullptr;
    CU_ASSERT(cuMemHostAlloc(&flag, sizeof(uint32_t), 0));
    flag_ = static_cast<volatile uint32_t*>(flag);
    *flag_ = 0;
    words_.assign(kCount, 7);
    CU_ASSERT(cuMemHostRegister_v2(words_.data(), kCount * 4, 0));
    data_ = Allocate(kCount * 4);
    CU_ASSERT(cuMemsetD32_v2(data_, 1, kCount));
    CU_ASSERT(cuCtxSynchronize());
  }
  void TearDown() override {
    CU_EXPECT(cuStreamDestroy_v2(stream_));
    CU_EXPECT(cuMemFreeHost(const_cast<uint32_t*>(flag_)));
    CU_EXPECT(cuMemFree_v2(data_));
    static_cast<void>(cuMemHostUnregister(words_.data()));
    DriverTest::TearDown();
  }
  // A kernel in the stream that ends when *flag_ is set.
  void HoldStream() {
    CUdeviceptr flag = 0;
    CU_ASSERT(cuMemHostGetDevicePointer_v2(&flag, const_cast<uint32_t*>(flag_), 0));
    void* parameters[] = {&flag};
    CU_ASSERT(Launch(Function("spin"), 1, 1, parameters, stream_));
  }

  CUstream stream_ = nullptr;
  volatile uint32_t* flag_ = nullptr;
  std::vector<uint32_t> words_;
  CUdeviceptr data_ = 0;
};

// Another thread counts in a heap block whose pages hold the edges of what is registered.
TEST_F(HostRegistrationTest, AWriteOfAnotherThreadIsNeverLost) {
  constexpr size_t kWords = 8192;
  const std::unique_ptr<std::atomic<uint32_t>[]> words(new std::atomic<uint32_t>[kWords]());
  std::atomic<bool> stop{false};
  size_t lost = 0;
  std::thread writer([&] {
    for (uint32_t lap = 1; !stop; ++lap) {
      for (size_t i = 0; i < kWords; ++i) words[i].store(lap, std::memory_order_relaxed);
      for (size_t i = 0; i < kWords; ++i) lost += words[i].load(std::memory_order_relaxed) != lap;
    }
  });
  for (int round = 0; round < 200; ++round) {
    const unsigned flags = round % 2 == 0 ? unsigned{CU_MEMHOSTREGISTER_DEVICEMAP} : 0u;
    if (cuMemHostRegister_v2(&words[100], 4 * (kWords - 200), flags) == CUDA_SUCCESS) {
      CU_EXPECT(cuMemHostUnregister(&words[100]));
    }
  }
  stop = true;
  writer.join();
  EXPECT_EQ(lost, 0u);
}

TEST_F(HostRegistrationTest, MemoryThatProcessesShareStaysShared) {
  constexpr size_t kBytes = 1 << 16;
  auto* const shared =
      static_cast<uint32_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  EXPECT_EQ(cuMemHostRegister_v2(shared, kBytes, CU_MEMHOSTREGISTER_DEVICEMAP), CUDA_ERROR_NOT_SUPPORTED);
  CU_ASSERT(cuMemHostRegister_v2(shared, kBytes, 0));
  const pid_t child = fork();
  if (child == 0) {
    shared[5] = 11;
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  CU_ASSERT(cuMemcpyHtoDAsync_v2(data_, shared, 4096, stream_));
  CU_ASSERT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(data_, 6)[5], 11u);
  CU_ASSERT(cuMemHostUnregister(shared));
  munmap(shared, kBytes);
}

TEST_F(HostRegistrationTest, KernelsAreRefusedRegisteredMemoryButNotPinnedMemory) {
  CUdeviceptr device = 0;
  EXPECT_EQ(cuMemHostGetDevicePointer_v2(&device, words_.data(), 0), CUDA_ERROR_NOT_SUPPORTED);
  CU_EXPECT(cuMemHostGetDevicePointer_v2(&device, const_cast<uint32_t*>(flag_), 0));
  int direct = -1;
  CU_EXPECT(cuDeviceGetAttribute(&direct, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 0));
  EXPECT_EQ(direct, 0);
}

TEST_F(HostRegistrationTest, ARangeIsRegisteredOnceAndUnregisteredOnce) {
  EXPECT_EQ(cuMemHostRegister_v2(words_.data() + 5, 16, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CU_EXPECT(cuMemHostUnregister(words_.data()));
  EXPECT_EQ(cuMemHostUnregister(words_.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

// The program sets the flag that its kernel waits for after it has asked for the copies.
TEST_F(HostRegistrationTest, AnAsynchronousCopyNeverHoldsUpTheCaller) {
  HoldStream();
  CU_ASSERT(cuMemcpyDtoHAsync_v2(words_.data(), data_, kCount * 4, stream_));
  CU_ASSERT(cuMemcpyHtoDAsync_v2(data_, words_.data(), kCount * 2, stream_));
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  *flag_ = 1;
  CU_ASSERT(cuStreamSynchronize(stream_));
  EXPECT_EQ(words_, std::vector<uint32_t>(kCount, 1));
}

// Before a copy that has been submitted already: the order of the two passes through the device, where the thread
// sanitizer does not see it.
__attribute__((no_sanitize("thread"))) void FillBeforeTheCopy(std::vector<uint32_t>& words, uint32_t value) {
  uint32_t* const all = words.data();
  for (size_t i = 0; i < kCount; ++i) all[i] = value;
}

TEST_F(HostRegistrationTest, CopiesReadAndWriteInStreamOrder) {
  HoldStream();
  CU_ASSERT(cuMemcpyHtoDAsync_v2(data_, words_.data(), kCount * 4, stream_));
  CU_ASSERT(AddOne(data_, kCount, stream_));
  CU_ASSERT(cuMemcpyDtoHAsync_v2(words_.data(), data_, kCount * 4, stream_));
  const auto double_all = [](void* words) {
    for (uint32_t& word : *static_cast<std::vector<uint32_t>*>(words)) word *= 2;
  };
  CU_ASSERT(cuLaunchHostFunc(stream_, double_all, &words_));
  CU_ASSERT(cuMemcpyHtoDAsync_v2(data_, words_.data(), kCount * 4, stream_));
  CU_ASSERT(AddOne(data_, kCount, stream_));
  FillBeforeTheCopy(words_, 20);
  *flag_ = 1;
  CU_ASSERT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(data_, kCount), std::vector<uint32_t>(kCount, 43));
}

TEST_F(HostRegistrationTest, RowsOfRegisteredMemoryAreCopiedAsRows) {
  std::iota(words_.begin(), words_.end(), 0u);
  HoldStream();
  const CUDA_MEMCPY2D rows{.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = words_.data(),
                           .srcPitch = 1024,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = data_,
                           .dstPitch = 512,
                           .WidthInBytes = 512,
                           .Height = 200};
  CU_ASSERT(cuMemcpy2DAsync_v2(&rows, stream_));
  *flag_ = 1;
  CU_ASSERT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(data_, 200 * 128)[199 * 128 + 3], 199u * 256 + 3);
}

TEST_F(HostRegistrationTest, UnregisteringWaitsForCopiesOfTheMemory) {
  HoldStream();
  CU_ASSERT(cuMemcpyDtoHAsync_v2(words_.data(), data_, kCount * 4, stream_));
  std::thread release([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *flag_ = 1;
  });
  CU_EXPECT(cuMemHostUnregister(words_.data()));
  EXPECT_EQ(words_, std::vector<uint32_t>(kCount, 1));
  release.join();
}

TEST_F(HostRegistrationTest, UnregisteringWaitsForCopiesOfAPartOfTheMemory) {
  HoldStream();
  CU_ASSERT(cuMemcpyDtoHAsync_v2(words_.data() + kCount / 2, data_, kCount * 2, stream_));
  std::thread release([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *flag_ = 1;
  });
  CU_EXPECT(cuMemHostUnregister(words_.data()));
  EXPECT_EQ(words_[kCount / 2], 1u);
  EXPECT_EQ(words_.back(), 1u);
  release.join();
}

// Reads what a copy writes meanwhile, of which the thread sanitizer would tell.
__attribute__((no_sanitize("thread"))) void AwaitOne(void* word) {
  while (*static_cast<volatile uint32_t*>(word) != 1) std::this_thread::yield();
}

// A function in one stream that waits for what a copy in another brings.
TEST_F(HostRegistrationTest, ACopyWaitsForNoFunctionOfAnotherStream) {
  CUstream other;
  CU_ASSERT(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuLaunchHostFunc(other, AwaitOne, &words_[kCount - 1]));
  CU_ASSERT(cuMemcpyDtoHAsync_v2(words_.data(), data_, kCount * 4, stream_));
  CU_ASSERT(cuStreamSynchronize(stream_));
  CU_ASSERT(cuStreamSynchronize(other));
  CU_EXPECT(cuStreamDestroy_v2(other));
}

}  // namespace
}  // namespace tutti::compat
