#include <thread>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

using ContextTest = DriverTest;

TEST_F(ContextTest, ContextsStackUpPerThread) {
  CUcontext first = nullptr, second = nullptr, current = nullptr;
  CU_ASSERT(cuCtxCreate_v2(&first, 0, 0));
  CU_ASSERT(cuCtxCreate_v2(&second, 0, 0));
  CU_EXPECT(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, second);
  CU_EXPECT(cuCtxPopCurrent_v2(&current));
  EXPECT_EQ(current, second);
  CU_EXPECT(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, first);
  std::thread([] {
    CUcontext none = reinterpret_cast<CUcontext>(1);
    CU_EXPECT(cuCtxGetCurrent(&none));
    EXPECT_EQ(none, nullptr);
    CUdeviceptr data;
    EXPECT_EQ(cuMemAlloc_v2(&data, 4), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
  CU_EXPECT(cuCtxDestroy_v2(first));
  CU_EXPECT(cuCtxDestroy_v2(second));
  EXPECT_EQ(cuCtxDestroy_v2(second), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(first), CUDA_ERROR_INVALID_CONTEXT);
  CU_EXPECT(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
}

TEST_F(ContextTest, WhatIsInAContextEndsWithIt) {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr data = 0;
  CU_ASSERT(cuCtxCreate_v2(&context, 0, 0));
  CU_ASSERT(cuModuleLoadData(&module, kPtx));
  CU_ASSERT(cuModuleGetFunction(&function, module, "add_one"));
  CU_ASSERT(cuStreamCreate(&stream, 0));
  CU_ASSERT(cuMemAlloc_v2(&data, 4));
  CU_ASSERT(cuCtxDestroy_v2(context));
  CU_ASSERT(cuCtxSetCurrent(context_));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemFree_v2(data), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ContextTest, AFunctionRunsInItsOwnContextOnly) {
  const CUfunction function = Function("add_one");
  CUcontext other = nullptr;
  CU_ASSERT(cuCtxCreate_v2(&other, 0, 0));
  CUdeviceptr data = 0;
  uint32_t n = 0;
  void* parameters[] = {&data, &n};
  EXPECT_EQ(Launch(function, 1, 1, parameters), CUDA_ERROR_INVALID_HANDLE);
  CU_EXPECT(cuCtxDestroy_v2(other));
  CU_EXPECT(cuCtxSetCurrent(context_));
}

TEST_F(ContextTest, ThePrimaryContextIsCounted) {
  unsigned flags = 0;
  int active = 0;
  CUcontext again = nullptr;
  CU_ASSERT(cuDevicePrimaryCtxRetain(&again, 0));
  EXPECT_EQ(again, context_);
  CU_ASSERT(cuDevicePrimaryCtxRelease_v2(0));
  CU_ASSERT(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  const CUdeviceptr data = Allocate(4);
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
  EXPECT_EQ(cuMemFree_v2(data), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuMemFree_v2(Allocate(4)));
  CU_ASSERT(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
  CUdeviceptr none = 0;
  EXPECT_EQ(cuMemAlloc_v2(&none, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CU_ASSERT(cuDevicePrimaryCtxRetain(&again, 0));
}

TEST_F(ContextTest, ACreatedContextEndsWithItsLastUser) {
  CUcontext created, attached;
  CU_ASSERT(cuCtxCreate_v2(&created, 0, 0));
  CU_ASSERT(cuCtxAttach(&attached, 0));
  EXPECT_EQ(attached, created);
  CU_ASSERT(cuCtxDetach(created));
  CU_EXPECT(cuCtxSynchronize());
  CU_ASSERT(cuCtxDetach(created));
  EXPECT_EQ(cuCtxPushCurrent_v2(created), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext current;
  CU_ASSERT(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
}

TEST_F(ContextTest, APrimaryContextIsDetachedAsOftenAsItWasAttached) {
  CUcontext attached;
  EXPECT_EQ(cuCtxDetach(context_), CUDA_ERROR_INVALID_CONTEXT);
  CU_ASSERT(cuCtxAttach(&attached, 0));
  CU_ASSERT(cuDevicePrimaryCtxRelease_v2(0));
  CU_EXPECT(cuCtxSynchronize());
  CU_ASSERT(cuDevicePrimaryCtxRetain(&context_, 0));
  CU_ASSERT(cuCtxDetach(context_));
  EXPECT_EQ(cuCtxDetach(context_), CUDA_ERROR_INVALID_CONTEXT);
  CU_EXPECT(cuCtxSynchronize());
}

TEST_F(ContextTest, LimitsAndConfigurationsAreKept) {
  size_t stack = 0;
  CU_ASSERT(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  CU_ASSERT(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(stack, 4096u);
  EXPECT_EQ(cuCtxGetLimit(&stack, 77), CUDA_ERROR_UNSUPPORTED_LIMIT);
  int least = 1, greatest = 1;
  CU_ASSERT(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5);
  CUdevice device = -1;
  CU_ASSERT(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
  CU_ASSERT(cuCtxGetDevice_v2(&device, context_));
}

TEST_F(ContextTest, ManyContextsComeAndGo) {
  for (int i = 0; i < 200; ++i) {
    CUcontext context = nullptr;
    CU_ASSERT(cuCtxCreate_v2(&context, 0, 0));
    const CUdeviceptr data = Allocate(1024);
    CU_ASSERT(cuMemsetD8Async(data, 1, 1024, nullptr));
    CU_ASSERT(cuCtxDestroy_v2(context));
  }
  CU_ASSERT(cuCtxSetCurrent(context_));
}

}  // namespace
}  // namespace tutti::compat
