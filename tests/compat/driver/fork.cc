// A process that forks after cuInit: in the child every call returns NOT_INITIALIZED, the parent is unaffected. A child
// forked before cuInit has a server of its own.
#include <sys/wait.h>
#include <unistd.h>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

// The child's exit status, or -1 if it did not exit.
int InChild(int (*body)(CUdeviceptr), CUdeviceptr data) {
  const pid_t child = fork();
  if (child == 0) _exit(body(data));
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ForkTest : public DriverTest {};

TEST_F(ForkTest, TheChildIsNotInitializedAndTheParentIsUndisturbed) {
  const CUdeviceptr data = Allocate(400);
  CU_ASSERT(cuMemsetD32_v2(data, 3, 100));
  EXPECT_EQ(InChild([](CUdeviceptr) -> int { return cuInit(0); }, data), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(InChild([](CUdeviceptr address) -> int { return cuMemFree_v2(address); }, data),
            CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(InChild([](CUdeviceptr) -> int { return cuCtxSynchronize(); }, data), CUDA_ERROR_NOT_INITIALIZED);
  CU_ASSERT(AddOne(data, 100));
  EXPECT_EQ(Read(data, 100), std::vector<uint32_t>(100, 4));
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(ForkTest, TheServerIsNoChildOfTheProgram) { EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1); }

}  // namespace
}  // namespace tutti::compat
