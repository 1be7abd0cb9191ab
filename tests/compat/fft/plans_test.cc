// Plans as programs handle them: streams, captures, work areas, threads, contexts.
#include <array>
#include <complex>
#include <thread>

#include "driver/fixture.h"
#include "fft/cufft.h"

namespace tutti::compat::fft {
namespace {

using Complex = std::complex<float>;
constexpr int kPoints = 8192;  // takes several launches and a work area

class FftPlansTest : public DriverTest {
 protected:
  // 1 at `at`, else 0: its transform turns `at` times.
  static std::vector<Complex> Impulse(int at) {
    std::vector<Complex> impulse(kPoints);
    impulse[at] = 1;
    return impulse;
  }
  static void Upload(CUdeviceptr to, const std::vector<Complex>& from) {
    CU_ASSERT(cuMemcpyHtoD_v2(to, from.data(), from.size() * sizeof from[0]));
  }
  static std::vector<Complex> Download(CUdeviceptr from) {
    std::vector<Complex> numbers(kPoints);
    CU_EXPECT(cuMemcpyDtoH_v2(numbers.data(), from, numbers.size() * sizeof numbers[0]));
    return numbers;
  }
  static void ExpectTransformOfImpulse(const std::vector<Complex>& got, int at) {
    for (int k = 0; k < kPoints; ++k) {
      const auto expected = std::polar(1.0, -2 * M_PI * (static_cast<int64_t>(k) * at % kPoints) / kPoints);
      ASSERT_NEAR(std::abs(std::complex<double>(got[k]) - expected), 0, 1e-5) << k;
    }
  }
  static void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
};

TEST_F(FftPlansTest, TransformsRunInTheOrderOfTheirStream) {
  CUstream stream = nullptr;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Handle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, kPoints, kC2C, 1), kSuccess);
  ASSERT_EQ(cufftSetStream(plan, stream), kSuccess);
  const CUdeviceptr flag = Allocate(4), a = Allocate(kPoints * 8), b = Allocate(kPoints * 8);
  Upload(a, Impulse(3));
  CU_ASSERT(cuMemsetD32_v2(flag, 0, 1));
  CU_ASSERT(cuMemsetD32_v2(b, 0, kPoints * 2));
  CU_ASSERT(cuCtxSynchronize());
  void* parameters[] = {const_cast<CUdeviceptr*>(&flag)};
  CU_ASSERT(Launch(Function("spin"), 1, 1, parameters, stream));  // holds up the stream
  ASSERT_EQ(cufftExecC2C(plan, Pointer(a), Pointer(b), kForward), kSuccess);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(Download(b)[0], Complex(0));
  CUstream other = nullptr;
  CU_ASSERT(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuMemsetD32Async(flag, 1, 1, other));
  CU_ASSERT(cuStreamSynchronize(stream));
  ExpectTransformOfImpulse(Download(b), 3);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

TEST_F(FftPlansTest, ACapturedTransformRunsWithItsGraph) {
  CUstream stream = nullptr;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Handle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, kPoints, kC2C, 1), kSuccess);
  ASSERT_EQ(cufftSetStream(plan, stream), kSuccess);
  const CUdeviceptr a = Allocate(kPoints * 8), b = Allocate(kPoints * 8);
  CU_ASSERT(cuMemsetD32_v2(b, 0, kPoints * 2));
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CU_ASSERT(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  ASSERT_EQ(cufftExecC2C(plan, Pointer(a), Pointer(b), kForward), kSuccess);
  CU_ASSERT(cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(Download(b)[0], Complex(0));
  CU_ASSERT(cuGraphInstantiateWithFlags(&executable, graph, 0));
  for (const int at : {1, 100}) {
    Upload(a, Impulse(at));
    CU_ASSERT(cuCtxSynchronize());
    CU_ASSERT(cuGraphLaunch(executable, stream));
    CU_ASSERT(cuStreamSynchronize(stream));
    ExpectTransformOfImpulse(Download(b), at);
  }
  CU_EXPECT(cuGraphExecDestroy(executable));
  CU_EXPECT(cuGraphDestroy(graph));
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

TEST_F(FftPlansTest, AProgramsWorkAreaIsUsed) {
  Handle plan = 0;
  size_t work = 0, again = 0;
  ASSERT_EQ(cufftCreate(&plan), kSuccess);
  ASSERT_EQ(cufftSetAutoAllocation(plan, 0), kSuccess);
  ASSERT_EQ(cufftMakePlan1d(plan, kPoints, kC2C, 1, &work), kSuccess);
  ASSERT_GT(work, 0u);
  EXPECT_EQ(cufftGetSize(plan, &again), kSuccess);
  EXPECT_EQ(again, work);
  EXPECT_EQ(cufftEstimate1d(kPoints, kC2C, 1, &again), kSuccess);
  EXPECT_EQ(again, work);
  EXPECT_EQ(cufftGetSize1d(plan, kPoints, kC2C, 1, &again), kSuccess);
  EXPECT_EQ(again, work);
  const CUdeviceptr a = Allocate(kPoints * 8), area = Allocate(work + 4);
  Upload(a, Impulse(5));
  EXPECT_EQ(cufftExecC2C(plan, Pointer(a), Pointer(a), kForward), kNoWorkspace);
  CU_ASSERT(cuMemsetD32_v2(area, 12345, work / 4 + 1));
  ASSERT_EQ(cufftSetWorkArea(plan, Pointer(area)), kSuccess);
  ASSERT_EQ(cufftExecC2C(plan, Pointer(a), Pointer(a), kForward), kSuccess);
  CU_ASSERT(cuCtxSynchronize());
  ExpectTransformOfImpulse(Download(a), 5);
  EXPECT_EQ(Read(area + work, 1)[0], 12345u);  // and nothing behind it
  EXPECT_NE(Read(area, 1)[0], 12345u);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

TEST_F(FftPlansTest, APlanDestroyedWhileItRunsFinishes) {
  CUstream stream = nullptr;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr flag = Allocate(4), a = Allocate(kPoints * 8);
  Upload(a, Impulse(9));
  CU_ASSERT(cuMemsetD32_v2(flag, 0, 1));
  CU_ASSERT(cuCtxSynchronize());
  Handle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, kPoints, kC2C, 1), kSuccess);
  ASSERT_EQ(cufftSetStream(plan, stream), kSuccess);
  void* parameters[] = {const_cast<CUdeviceptr*>(&flag)};
  CU_ASSERT(Launch(Function("spin"), 1, 1, parameters, stream));
  ASSERT_EQ(cufftExecC2C(plan, Pointer(a), Pointer(a), kForward), kSuccess);
  ASSERT_EQ(cufftDestroy(plan), kSuccess);
  // Takes memory that the plan has let go of, if anything gives it.
  Handle next = 0;
  ASSERT_EQ(cufftPlan1d(&next, kPoints, kC2C, 1), kSuccess);
  const CUdeviceptr c = Allocate(kPoints * 8);
  CUstream other = nullptr;
  CU_ASSERT(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuMemsetD32Async(c, 0x7f7f7f7f, kPoints * 2, other));
  CU_ASSERT(cuMemsetD32Async(flag, 1, 1, other));
  CU_ASSERT(cuStreamSynchronize(stream));
  ExpectTransformOfImpulse(Download(a), 9);
  EXPECT_EQ(cufftDestroy(next), kSuccess);
}

TEST_F(FftPlansTest, ThreadsHavePlansOfTheirOwnAndShareOne) {
  Handle shared = 0;
  ASSERT_EQ(cufftPlan1d(&shared, 1024, kC2C, 1), kSuccess);
  std::array<std::thread, 4> threads;
  for (int t = 0; t < 4; ++t) {
    threads[t] = std::thread([&, t] {
      CU_ASSERT(cuCtxSetCurrent(context_));
      CUdeviceptr a = 0;
      CU_ASSERT(cuMemAlloc_v2(&a, kPoints * 8));
      for (int i = 0; i < 5; ++i) {
        Handle own = 0;
        ASSERT_EQ(cufftPlan1d(&own, kPoints, kC2C, 1), kSuccess);
        Upload(a, Impulse(t + 4 * i));
        ASSERT_EQ(cufftExecC2C(own, Pointer(a), Pointer(a), kForward), kSuccess);
        ASSERT_EQ(cufftDestroy(own), kSuccess);
        CU_ASSERT(cuCtxSynchronize());
        ExpectTransformOfImpulse(Download(a), t + 4 * i);
        ASSERT_EQ(cufftExecC2C(shared, Pointer(a), Pointer(a), kForward), kSuccess);
      }
      CU_ASSERT(cuCtxSynchronize());
      CU_EXPECT(cuMemFree_v2(a));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cufftDestroy(shared), kSuccess);
}

TEST_F(FftPlansTest, APlanWorksInTheContextThatItWasMadeIn) {
  CUcontext second = nullptr, current = nullptr;
  CU_ASSERT(cuCtxCreate_v2(&second, 0, 0));  // current now
  Handle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, kPoints, kC2C, 1), kSuccess);
  CUdeviceptr a = 0;
  CU_ASSERT(cuMemAlloc_v2(&a, kPoints * 8));
  Upload(a, Impulse(2));
  CU_ASSERT(cuCtxSetCurrent(context_));
  EXPECT_EQ(cufftExecC2C(plan, Pointer(a), Pointer(a), kForward), kSuccess);
  CU_EXPECT(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  CU_ASSERT(cuCtxSetCurrent(second));
  CU_ASSERT(cuCtxSynchronize());
  ExpectTransformOfImpulse(Download(a), 2);
  CU_ASSERT(cuCtxSetCurrent(context_));
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
  CU_ASSERT(cuCtxDestroy_v2(second));
}

TEST_F(FftPlansTest, APlanWhoseContextIsGoneFailsAndCanBeDestroyed) {
  CUcontext second = nullptr;
  CU_ASSERT(cuCtxCreate_v2(&second, 0, 0));
  Handle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, kPoints, kC2C, 1), kSuccess);
  CU_ASSERT(cuCtxDestroy_v2(second));
  CU_ASSERT(cuCtxSetCurrent(context_));
  const CUdeviceptr a = Allocate(kPoints * 8);
  EXPECT_EQ(cufftExecC2C(plan, Pointer(a), Pointer(a), kForward), kExecFailed);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

}  // namespace
}  // namespace tutti::compat::fft
