// A copy to registered host memory that takes long, so that something can happen in its midst.
#pragma once

#include <algorithm>
#include <ranges>
#include <thread>
#include <vector>

#include "driver/fixture.h"

namespace tutti::compat {

// The caller's thread only.
class LongCopy {
 public:
  // Submits it, on a stream of its own, and returns when its first byte is there: one of many rows of a byte each takes
  // long.
  void Begin() {
    bytes_.assign(kBytes, 0);
    CUdeviceptr data = 0;
    CU_ASSERT(cuMemAlloc_v2(&data, kBytes));
    CU_ASSERT(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CU_ASSERT(cuMemHostRegister_v2(bytes_.data(), kBytes, 0));
    CU_ASSERT(cuMemsetD8_v2(data, 1, kBytes));
    CU_ASSERT(cuCtxSynchronize());
    const CUDA_MEMCPY2D rows{.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                             .srcDevice = data,
                             .srcPitch = 1,
                             .dstMemoryType = CU_MEMORYTYPE_HOST,
                             .dstHost = bytes_.data(),
                             .dstPitch = 1,
                             .WidthInBytes = 1,
                             .Height = kBytes};
    CU_ASSERT(cuMemcpy2DAsync_v2(&rows, stream_));
    while (ByteAt(0) == 0) std::this_thread::yield();
  }
  // It was being made, so it has been waited for. Where it goes through staging memory it ends with the server, between
  // two pieces.
  void ExpectOver() const {
    if (ReachesDeviceMemory()) {
      EXPECT_EQ(ByteAt(kBytes - 1), 1) << "the copy is still at work";
      return;
    }
    const auto made = [this] {
      return std::ranges::count_if(std::views::iota(size_t{0}, kBytes), [this](size_t i) { return ByteAt(i) == 1; });
    };
    const auto now = made();
    EXPECT_EQ(made(), now) << "the copy is still at work";
  }

  CUstream stream() const { return stream_; }
  void* destination() { return bytes_.data(); }

 private:
  static constexpr size_t kBytes = 64u << 20;

  // What a copy may write meanwhile, of which the thread sanitizer would tell.
  __attribute__((no_sanitize("thread"))) uint8_t ByteAt(size_t i) const {
    return *const_cast<const volatile uint8_t*>(&bytes_[i]);
  }

  std::vector<uint8_t> bytes_;
  CUstream stream_ = nullptr;
};

}  // namespace tutti::compat
