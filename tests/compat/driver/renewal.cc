// Clients survive their server's death, though their contexts do not. A script starts the private server and stores its
// process id, so that the test can kill it.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "driver/fixture.h"
#include "driver/long_copy.h"

namespace tutti::compat {
namespace {

using std::chrono::steady_clock;

class RenewalTest : public DriverTest {
 protected:
  static void SetUpTestSuite() {
    char directory[] = "/tmp/tutti-renewal.XXXXXX";
    directory_ = mkdtemp(directory);
    const char* const server = std::getenv("TUTTI_SERVER");
    ASSERT_NE(server, nullptr);
    const std::string script = directory_ + "/server";
    std::ofstream(script) << "#!/bin/sh\necho $$ > " << directory_ << "/pid\nexec " << server << " \"$@\"\n";
    chmod(script.c_str(), 0755);
    setenv("TUTTI_SERVER", script.c_str(), 1);
    DriverTest::SetUpTestSuite();
  }
  static void TearDownTestSuite() {
    for (const char* name : {"/pid", "/server"}) unlink((directory_ + name).c_str());
    rmdir(directory_.c_str());
  }
  static pid_t ServerPid() {
    pid_t pid = 0;
    std::ifstream(directory_ + "/pid") >> pid;
    return pid;
  }
  static void Kill() {
    ASSERT_GT(ServerPid(), 1);
    ASSERT_EQ(kill(ServerPid(), SIGKILL), 0);
  }
  // And waits until the client has noticed.
  void KillServer() {
    Kill();
    const auto give_up = steady_clock::now() + std::chrono::seconds(20);
    CUdeviceptr data = 0;
    while (cuMemAlloc_v2(&data, 512) == CUDA_SUCCESS && steady_clock::now() < give_up) {
    }
    EXPECT_EQ(cuMemAlloc_v2(&data, 512), CUDA_ERROR_MPS_RPC_FAILURE);
  }
  void ExpectWorks() {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CU_ASSERT(cuModuleLoadData(&module, kPtx));
    CU_ASSERT(cuModuleGetFunction(&function, module, "add_one"));
    CUdeviceptr data = Allocate(4096);
    CU_ASSERT(cuMemsetD32_v2(data, 1, 1024));
    uint32_t count = 1024;
    void* parameters[] = {&data, &count};
    CU_EXPECT(Launch(function, 8, 128, parameters));
    EXPECT_EQ(Read(data, 1024), std::vector<uint32_t>(1024, 2));
    CU_EXPECT(cuMemFree_v2(data));
    CU_EXPECT(cuModuleUnload(module));
  }

  void KillServerInACopy() {
    copy_.Begin();
    Kill();
  }

  static inline std::string directory_;
  LongCopy copy_;
};

TEST_F(RenewalTest, APrimaryContextThatIsResetWorksWithTheNextServer) {
  ExpectWorks();
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CU_ASSERT(cuStreamCreate(&stream, 0));
  CU_ASSERT(cuEventCreate(&event, 0));
  CU_EXPECT(cuEventRecord(event, stream));
  const CUdeviceptr lost = Allocate(1 << 20);
  const pid_t first = ServerPid();
  KillServer();
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_MPS_RPC_FAILURE);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_MPS_RPC_FAILURE);
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
  EXPECT_NE(ServerPid(), first);
  ExpectWorks();
  // What belonged to the old session is known to be gone, and does the new one no harm.
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemFree_v2(lost), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  CU_EXPECT(cuEventDestroy_v2(event));
  ExpectWorks();
}

// While the server stands still, a launch that had to ask it would not return.
TEST_F(RenewalTest, ALaunchAsksTheServerForNoShapeItHasHad) {
  const CUdeviceptr data = Allocate(4096);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CU_ASSERT(cuModuleLoadData(&module, kPtx));
  CU_ASSERT(cuModuleGetFunction(&function, module, "add_one"));
  uint32_t count = 0;
  void* parameters[] = {const_cast<CUdeviceptr*>(&data), &count};
  const auto launch_all = [&] {
    for (unsigned threads = 1; threads <= 40; ++threads) CU_EXPECT(Launch(function, 1, threads, parameters));
  };
  launch_all();
  CU_ASSERT(cuCtxSynchronize());
  ASSERT_EQ(kill(ServerPid(), SIGSTOP), 0);
  launch_all();
  ASSERT_EQ(kill(ServerPid(), SIGCONT), 0);
  CU_EXPECT(cuCtxSynchronize());
  CU_EXPECT(cuMemFree_v2(data));
  CU_EXPECT(cuModuleUnload(module));
}

TEST_F(RenewalTest, AWaitingThreadIsToldAtOnce) {
  const CUdeviceptr flag = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(flag, 0, 1));
  CUdeviceptr parameter = flag;
  void* parameters[] = {&parameter};
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  CU_ASSERT(cuModuleLoadData(&module, kPtx));
  CU_ASSERT(cuModuleGetFunction(&spin, module, "spin"));
  CU_ASSERT(Launch(spin, 1, 1, parameters));
  CUresult answer = CUDA_SUCCESS;
  std::thread waiting([&] {
    cuCtxSetCurrent(context_);
    answer = cuCtxSynchronize();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  KillServer();
  waiting.join();
  EXPECT_EQ(answer, CUDA_ERROR_MPS_RPC_FAILURE);
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
}

TEST_F(RenewalTest, UnregisteringTheMemoryWaitsForTheCopy) {
  KillServerInACopy();
  // The server may take longer to die than the copy to be made.
  const CUresult unregistered = cuMemHostUnregister(copy_.destination());
  EXPECT_TRUE(unregistered == CUDA_ERROR_MPS_RPC_FAILURE || unregistered == CUDA_SUCCESS) << unregistered;
  copy_.ExpectOver();
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
}

TEST_F(RenewalTest, UnregisteringWaitsThoughTheServersDeathIsKnown) {
  KillServerInACopy();
  CUdeviceptr data = 0;
  while (cuMemAlloc_v2(&data, 512) == CUDA_SUCCESS) {
  }
  EXPECT_EQ(cuMemHostUnregister(copy_.destination()), CUDA_ERROR_MPS_RPC_FAILURE);
  copy_.ExpectOver();
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
}

TEST_F(RenewalTest, ACallThatIsToldSoReturnsWhenTheCopyIsMade) {
  KillServerInACopy();
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_MPS_RPC_FAILURE);
  copy_.ExpectOver();
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
}

TEST_F(RenewalTest, TheContextThatRegisteredTheMemoryEndsWhenTheCopyIsMade) {
  CUcontext other = nullptr;
  CU_ASSERT(cuCtxCreate_v2(&other, 0, 0));
  KillServerInACopy();
  CU_EXPECT(cuCtxDestroy_v2(other));
  copy_.ExpectOver();
  CU_ASSERT(cuCtxSetCurrent(context_));
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
}

TEST_F(RenewalTest, AsLongAsAContextIsLeftNothingIsRenewed) {
  CUcontext other = nullptr;
  CU_ASSERT(cuCtxCreate_v2(&other, 0, 0));
  KillServer();
  CUcontext third = nullptr;
  EXPECT_EQ(cuCtxCreate_v2(&third, 0, 0), CUDA_ERROR_MPS_RPC_FAILURE);
  CU_EXPECT(cuCtxDestroy_v2(other));
  CU_ASSERT(cuCtxSetCurrent(context_));
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
  ExpectWorks();
}

}  // namespace
}  // namespace tutti::compat
