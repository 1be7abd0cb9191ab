// Batches of copies, prefetches and discards.
#include <numeric>
#include <thread>
#include <vector>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

constexpr size_t kWords = 256, kBytes = kWords * sizeof(uint32_t);
constexpr size_t kNoCopy = ~size_t{0};

class CopyBatchTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    data_ = Allocate(4 * kBytes);
    CU_ASSERT(cuMemsetD32_v2(data_, 0, 4 * kWords));
    host_.resize(kWords);
    std::iota(host_.begin(), host_.end(), 1u);
    void* pinned = nullptr;
    CU_ASSERT(cuMemHostAlloc(&pinned, kBytes, 0));
    pinned_ = static_cast<uint32_t*>(pinned);
    CU_ASSERT(cuMemHostGetDevicePointer_v2(&flag_, pinned, 0));
  }
  void TearDown() override {
    CU_EXPECT(cuStreamDestroy_v2(stream_));
    CU_EXPECT(cuMemFree_v2(data_));
    CU_EXPECT(cuMemFreeHost(pinned_));
    DriverTest::TearDown();
  }
  static CUdeviceptr At(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }
  CUdeviceptr Part(size_t i) const { return data_ + i * kBytes; }
  static CUmemcpyAttributes Order(int order) {
    return {.srcAccessOrder = order, .srcLocHint = {}, .dstLocHint = {}, .flags = 0};
  }

  CUstream stream_ = nullptr;
  CUdeviceptr data_ = 0, flag_ = 0;
  std::vector<uint32_t> host_;
  uint32_t* pinned_ = nullptr;
};

TEST_F(CopyBatchTest, CopiesBetweenEverything) {
  std::vector<uint32_t> back(kWords);
  CUdeviceptr to[] = {Part(0), Part(1)}, from[] = {At(host_.data()), At(host_.data() + 1)};
  size_t sizes[] = {kBytes, kBytes - 4}, starts[] = {0, 1};
  CUmemcpyAttributes attributes[] = {Order(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), Order(CU_MEMCPY_SRC_ACCESS_ORDER_ANY)};
  CU_EXPECT(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, starts, 2, stream_));
  CUdeviceptr on[] = {Part(2), At(back.data())}, of[] = {Part(1), Part(0)};
  CU_EXPECT(cuMemcpyBatchAsync_v2(on, of, sizes, 2, attributes, starts, 1, stream_));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(Part(0), kWords), host_);
  EXPECT_EQ(Read(Part(2), 1)[0], 2u);
  EXPECT_TRUE(std::equal(back.begin(), back.end() - 1, host_.begin()));
  EXPECT_EQ(back.back(), 0u);  // 4 bytes less
}

// The stream is held, and the sources change after the call.
TEST_F(CopyBatchTest, ASourceThatIsReadDuringTheCallMayChangeAfterIt) {
  for (const bool large : {false, true}) {
    const size_t words = large ? size_t{1} << 20 : 1;
    const CUdeviceptr target = Allocate(words * 4);
    void* source = nullptr;
    CU_ASSERT(cuMemHostAlloc(&source, words * 4, 0));
    auto* const words_of = static_cast<uint32_t*>(source);
    words_of[0] = words_of[words - 1] = 7;
    pinned_[0] = 0;
    CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag_, 1, CU_STREAM_WAIT_VALUE_EQ));
    CUdeviceptr to[] = {target}, from[] = {At(source)};
    size_t sizes[] = {words * 4}, starts[] = {0};
    CUmemcpyAttributes attributes[] = {Order(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)};
    CU_EXPECT(cuMemcpyBatchAsync_v2(to, from, sizes, 1, attributes, starts, 1, stream_));
    EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
    words_of[0] = words_of[words - 1] = 8;
    std::atomic_ref(pinned_[0]).store(1);
    CU_EXPECT(cuStreamSynchronize(stream_));
    EXPECT_EQ(Read(target, 1)[0], 7u);
    EXPECT_EQ(Read(target + (words - 1) * 4, 1)[0], 7u);
    CU_EXPECT(cuMemFree_v2(target));
    CU_EXPECT(cuMemFreeHost(source));
  }
}

TEST_F(CopyBatchTest, AWrongCopyIsNamedAndNothingIsCopied) {
  CUdeviceptr to[] = {Part(0), Part(3) + 4}, from[] = {At(host_.data()), At(host_.data())};
  size_t sizes[] = {kBytes, kBytes}, starts[] = {0}, failed = 99;
  CUmemcpyAttributes attributes[] = {Order(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM)};
  EXPECT_EQ(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, starts, 1, &failed, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, 1u);
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(Part(0), 1)[0], 0u);
}

TEST_F(CopyBatchTest, EveryCopyNeedsAnAttribute) {
  CUdeviceptr to[] = {Part(0), Part(1)}, from[] = {Part(2), Part(3)};
  size_t sizes[] = {kBytes, kBytes};
  CUmemcpyAttributes good[] = {Order(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), Order(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM)};
  const auto copy = [&](std::vector<size_t> starts, CUmemcpyAttributes* attributes, size_t count, CUstream stream) {
    size_t failed = 99;
    const CUresult result =
        cuMemcpyBatchAsync(to, from, sizes, count, attributes, starts.data(), starts.size(), &failed, stream);
    return std::pair(result, failed);
  };
  const std::pair bad(CUresult{CUDA_ERROR_INVALID_VALUE}, kNoCopy);
  EXPECT_EQ(copy({0, 1}, good, 2, stream_).first, CUDA_SUCCESS);
  EXPECT_EQ(copy({1}, good, 2, stream_), bad);
  EXPECT_EQ(copy({0, 0}, good, 2, stream_), bad);
  EXPECT_EQ(copy({0, 2}, good, 2, stream_), bad);
  EXPECT_EQ(copy({0, 1, 2}, good, 2, stream_), bad);
  EXPECT_EQ(copy({}, good, 2, stream_), bad);
  EXPECT_EQ(copy({0}, nullptr, 2, stream_), bad);
  EXPECT_EQ(copy({0}, good, 0, stream_), bad);
  EXPECT_EQ(copy({0}, good, 2, nullptr), bad) << "the legacy default stream";
  EXPECT_EQ(copy({0}, good, 2, reinterpret_cast<CUstream>(kStreamPerThreadHandle)).first, CUDA_SUCCESS);
  CUmemcpyAttributes none[] = {good[0], Order(0)};
  EXPECT_EQ(copy({0, 1}, none, 2, stream_), (std::pair(CUresult{CUDA_ERROR_INVALID_VALUE}, size_t{1})));
  none[1] = good[0];
  none[1].flags = 2;
  EXPECT_EQ(copy({0, 1}, none, 2, stream_).second, 1u);
}

TEST_F(CopyBatchTest, BoxesCountElementsOfTheArray) {
  CUarray array = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape{
      .Width = 8, .Height = 4, .Depth = 2, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 2, .Flags = 0};
  CU_ASSERT(cuArray3DCreate_v2(&array, &shape));
  CUDA_MEMCPY3D_BATCH_OP in{}, out{};
  in.src.type = out.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  in.dst.type = out.src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  in.src.op.ptr = {.ptr = At(host_.data()), .rowLength = 4, .layerHeight = 3, .locHint = {}};
  in.dst.op.array = {.array = array, .offset = {.x = 1, .y = 2, .z = 0}};
  in.extent = {.width = 3, .height = 2, .depth = 2};
  in.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  out = {.src = in.dst,
         .dst = out.dst,
         .extent = in.extent,
         .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
         .flags = 1};
  out.dst.op.ptr = {.ptr = data_, .rowLength = 0, .layerHeight = 0, .locHint = {}};
  CU_EXPECT(cuMemcpy3DBatchAsync_v2(1, &in, 0, stream_));
  CU_EXPECT(cuMemcpy3DBatchAsync_v2(1, &out, 0, stream_));
  CU_EXPECT(cuStreamSynchronize(stream_));
  std::vector<uint32_t> expected;
  for (size_t z = 0; z < 2; ++z) {
    for (size_t y = 0; y < 2; ++y) {
      const auto row = host_.begin() + static_cast<long>((z * 3 + y) * 4 * 2);
      expected.insert(expected.end(), row, row + 6);
    }
  }
  EXPECT_EQ(Read(data_, expected.size()), expected);
  size_t failed = 99;
  const auto refused = [&](const CUDA_MEMCPY3D_BATCH_OP& wrong) {
    CUDA_MEMCPY3D_BATCH_OP both[] = {out, wrong};
    return cuMemcpy3DBatchAsync(2, both, &failed, 0, stream_) != CUDA_SUCCESS && failed == 1;
  };
  auto wrong = in;
  wrong.extent.width = 0;
  EXPECT_TRUE(refused(wrong));
  wrong = in;
  wrong.extent.width = 8;  // with the offset one more than the array has
  wrong.src.op.ptr.rowLength = 0;
  EXPECT_TRUE(refused(wrong));
  wrong = in;
  wrong.src.op.ptr.rowLength = 2;
  EXPECT_TRUE(refused(wrong));
  wrong = in;
  wrong.extent.width = ~size_t{0} / 4;
  EXPECT_TRUE(refused(wrong));
  wrong = in;
  wrong.src.type = 3;
  EXPECT_TRUE(refused(wrong));
  EXPECT_EQ(cuMemcpy3DBatchAsync_v2(1, &in, 1, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy3DBatchAsync_v2(1, &in, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuArrayDestroy(array));
}

TEST_F(CopyBatchTest, ACapturedBatchIsCopiedWhenTheGraphRuns) {
  CUdeviceptr to[] = {Part(1), Part(2)}, from[] = {Part(0), Part(0)};
  size_t sizes[] = {kBytes, kBytes}, starts[] = {0};
  CUmemcpyAttributes attributes[] = {Order(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM)};
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CU_ASSERT(cuStreamBeginCapture_v2(stream_, 0));
  CU_EXPECT(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, starts, 1, stream_));
  CU_ASSERT(cuStreamEndCapture(stream_, &graph));
  CU_ASSERT(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU_ASSERT(cuMemcpyHtoD_v2(Part(0), host_.data(), kBytes));
  CU_ASSERT(cuGraphLaunch(exec, stream_));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(Part(1), kWords), host_);
  EXPECT_EQ(Read(Part(2), kWords), host_);
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(CopyBatchTest, PrefetchesAndDiscardsAreChecked) {
  CUdeviceptr addresses[] = {Part(0), Part(3)};
  size_t sizes[] = {kBytes, kBytes}, starts[] = {0};
  CUmemLocation device[] = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}};
  CU_EXPECT(cuMemPrefetchBatchAsync(addresses, sizes, 2, device, starts, 1, 0, stream_));
  CU_EXPECT(cuMemDiscardBatchAsync(addresses, sizes, 2, 0, stream_));
  CU_EXPECT(cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, 2, device, starts, 1, 0, stream_));
  EXPECT_EQ(cuMemDiscardBatchAsync(addresses, sizes, 2, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemDiscardBatchAsync(addresses, sizes, 2, 1, stream_), CUDA_ERROR_INVALID_VALUE);
  device[0].type = 0;
  EXPECT_EQ(cuMemPrefetchBatchAsync(addresses, sizes, 2, device, starts, 1, 0, stream_), CUDA_ERROR_INVALID_VALUE);
  sizes[1] += 1;
  EXPECT_EQ(cuMemDiscardBatchAsync(addresses, sizes, 2, 0, stream_), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace tutti::compat
