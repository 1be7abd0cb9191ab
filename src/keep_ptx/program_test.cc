#include "keep_ptx/program.h"

#include <gtest/gtest.h>

namespace tutti::keep_ptx {
namespace {

TEST(ProgramTest, PtxasIsKnownByItsName) {
  EXPECT_TRUE(IsPtxas("/usr/local/cuda-13.0/bin/ptxas"));
  EXPECT_TRUE(IsPtxas("/opt/venv/triton/backends/nvidia/bin/ptxas-blackwell"));
  for (const char* const other : {"/usr/local/cuda/bin/nvcc", "/opt/ptxas/python3", "/usr/bin/ptxasm", "ptxa", ""})
    EXPECT_FALSE(IsPtxas(other)) << other;
}

TEST(ProgramTest, PythonIsAProgramOrALibrary) {
  EXPECT_TRUE(IsPython("/usr/bin/python3.11"));
  EXPECT_TRUE(IsPython("/opt/python/lib/libpython3.13t.so.1.0"));
  for (const char* const other : {"/opt/python/bin/perl", "/usr/lib/libcuda.so.1", "/usr/lib/libmypython.so", ""})
    EXPECT_FALSE(IsPython(other)) << other;
}

TEST(ProgramTest, OneFileSaysThatThereIsADriver) {
  EXPECT_TRUE(IsDeviceFile("/dev/nvidiactl"));
  for (const char* const other : {"/dev/nvidia0", "/dev/nvidiactl2", "nvidiactl", "/dev/null", ""})
    EXPECT_FALSE(IsDeviceFile(other)) << other;
  EXPECT_FALSE(IsDeviceFile(nullptr));
}

}  // namespace
}  // namespace tutti::keep_ptx
