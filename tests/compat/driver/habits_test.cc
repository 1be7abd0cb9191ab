// Things programs do to their own process, which a library in it must survive: forks in the middle of cuInit, limits,
// locked memory, closed descriptors, signals. Each test has a process of its own, which makes the first cuInit in it.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

// SIGALRM ends a process whose call never returns.
constexpr unsigned kHangsAfterSeconds = 60;

// What the process ended with: its exit status, or minus the signal.
int EndOf(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1000;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

template <typename Body>
int InProcess(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kHangsAfterSeconds);
    _exit(body());
  }
  return EndOf(child);
}

// A context, current; the process ends with the number of the step that failed.
#define STEP(number, condition) \
  if (!(condition)) return number
int Begin() {
  CUcontext context;
  STEP(201, cuInit(0) == CUDA_SUCCESS);
  STEP(202, cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  STEP(203, cuCtxSetCurrent(context) == CUDA_SUCCESS);
  return 0;
}

// Loads a module, runs a kernel on fresh memory, and reads the result.
CUresult Work() {
  CUmodule module;
  if (const CUresult status = cuModuleLoadData(&module, kPtx); status != CUDA_SUCCESS) return status;
  CUfunction function;
  CUdeviceptr data;
  uint32_t count = 100, word = 0;
  if (const CUresult status = cuModuleGetFunction(&function, module, "add_one"); status != CUDA_SUCCESS) return status;
  if (const CUresult status = cuMemAlloc_v2(&data, 400); status != CUDA_SUCCESS) return status;
  void* parameters[] = {&data, &count};
  if (const CUresult status = cuLaunchKernel(function, 1, 1, 1, 100, 1, 1, 0, nullptr, parameters, nullptr);
      status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = cuMemcpyDtoH_v2(&word, data, 4); status != CUDA_SUCCESS) return status;
  return word == 1 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

uint64_t StatusBytes(const char* field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field)) return std::strtoull(line.c_str() + std::strlen(field) + 1, nullptr, 10) << 10;
  }
  return ~0ull;
}

// The child of such a fork is told so; it never waits for what its parent's thread holds.
TEST(Habits, AChildForkedDuringTheFirstInitNeverHangs) {
  for (unsigned i = 0; i < 25; ++i) {
    const int end = InProcess([i] {
      std::thread first([] { static_cast<void>(cuInit(0)); });
      usleep(i * 100);
      const int in_child = InProcess([] {
        const CUresult status = cuInit(0);
        return status == CUDA_SUCCESS || status == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1;
      });
      first.join();
      return in_child == 0 && cuInit(0) == CUDA_SUCCESS ? 0 : 1;
    });
    ASSERT_EQ(end, 0) << "forked after " << i * 100 << " microseconds";
  }
}

TEST(Habits, AChildForkedBeforeTheFirstInitHasASessionOfItsOwn) {
  EXPECT_EQ(InProcess([] { return Begin() == 0 && Work() == CUDA_SUCCESS ? 0 : 1; }), 0);
}

TEST(Habits, AChildOfAProgramWithoutDevicesHasNoneEither) {
  EXPECT_EQ(InProcess([] {
              setenv("CUDA_VISIBLE_DEVICES", "", 1);
              STEP(1, cuInit(0) == CUDA_ERROR_NO_DEVICE);
              STEP(2, InProcess([] { return cuInit(0) == CUDA_ERROR_NO_DEVICE ? 0 : 1; }) == 0);
              STEP(3, cuInit(0) == CUDA_ERROR_NO_DEVICE);
              return 0;
            }),
            0);
}

// The primary context is neither made nor held for it.
TEST(Habits, AKernelOfALibraryIsFoundWithoutAContext) {
  EXPECT_EQ(InProcess([] {
              CUlibrary library;
              CUkernel kernel;
              unsigned flags = 0;
              unsigned count = 0;
              int active = -1;
              STEP(1, cuInit(0) == CUDA_SUCCESS);
              STEP(2, cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS);
              STEP(3, cuLibraryGetKernel(&kernel, library, "add_one") == CUDA_SUCCESS);
              STEP(4, cuLibraryGetKernel(&kernel, library, "nothing") == CUDA_ERROR_NOT_FOUND);
              STEP(5, cuLibraryGetKernelCount(&count, library) == CUDA_SUCCESS && count == 5);
              STEP(6, cuDevicePrimaryCtxGetState(0, &flags, &active) == CUDA_SUCCESS && active == 0);
              STEP(7, cuLibraryUnload(library) == CUDA_SUCCESS);
              return 0;
            }),
            0);
}

TEST(Habits, LockingAllMemoryMakesNoPagesOfTheWindow) {
  constexpr int kMayNot = 77;
  const int end = InProcess([] {
    if (const int failed = Begin(); failed != 0) return failed;
    STEP(1, Work() == CUDA_SUCCESS);
    STEP(kMayNot, mlockall(MCL_CURRENT) == 0);
    STEP(3, StatusBytes("VmRSS:") < 1ull << 30);
    STEP(4, Work() == CUDA_SUCCESS);
    return 0;
  });
  if (end == kMayNot) GTEST_SKIP() << "may not lock memory";
  EXPECT_EQ(end, 0);
}

TEST(Habits, ALimitOnTheSizeOfFilesIsAnErrorAndNoSignal) {
  EXPECT_EQ(InProcess([] {
              if (const int failed = Begin(); failed != 0) return failed;
              const rlimit none{0, 0};
              STEP(1, setrlimit(RLIMIT_FSIZE, &none) == 0);
              STEP(2, Work() == CUDA_ERROR_OPERATING_SYSTEM);
              sigset_t pending;
              sigpending(&pending);
              STEP(3, sigismember(&pending, SIGXFSZ) == 0);
              CUdeviceptr data;
              STEP(4, cuMemAlloc_v2(&data, 4096) == CUDA_SUCCESS);
              STEP(5, cuMemsetD8_v2(data, 1, 4096) == CUDA_SUCCESS);
              STEP(6, cuCtxSynchronize() == CUDA_SUCCESS);
              return 0;
            }),
            0);
}

// What the library keeps of modules is mapped with the first one.
TEST(Habits, AModuleThatTheProgramHasNoMemoryForIsNotLeftInTheServer) {
  EXPECT_EQ(InProcess([] {
              if (const int failed = Begin(); failed != 0) return failed;
              constexpr uint64_t kVariableBytes = 64 << 20, kLeftBytes = 8 << 20;
              const std::string ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.global .u8 large[67108864];\n";
              size_t before = 0, after = 0, total = 0;
              CUdeviceptr data;
              CUmodule module;
              STEP(1, cuMemGetInfo_v2(&before, &total) == CUDA_SUCCESS && before > 2 * kVariableBytes);
              rlimit all, little;
              STEP(2, getrlimit(RLIMIT_AS, &all) == 0);
              little = {StatusBytes("VmSize:") + kLeftBytes, all.rlim_max};
              STEP(3, setrlimit(RLIMIT_AS, &little) == 0);
              const CUresult status = cuModuleLoadData(&module, ptx.c_str());
              STEP(4, setrlimit(RLIMIT_AS, &all) == 0);
              STEP(5, status == CUDA_ERROR_OUT_OF_MEMORY);
              // The server has answered this after it took what came before.
              STEP(6, cuMemAlloc_v2(&data, 4096) == CUDA_SUCCESS);
              STEP(7, cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS && after + kVariableBytes / 2 > before);
              STEP(8, cuModuleLoadData(&module, ptx.c_str()) == CUDA_SUCCESS);
              STEP(9, cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS && after + kVariableBytes <= before);
              return 0;
            }),
            0);
}

// And files that the program then opens under the same numbers stay as they are.
TEST(Habits, AProgramThatClosesAllDescriptorsLosesItsSessionAndNoFile) {
  EXPECT_EQ(InProcess([] {
              if (const int failed = Begin(); failed != 0) return failed;
              STEP(1, Work() == CUDA_SUCCESS);
              CUdeviceptr data;
              STEP(2, cuMemAlloc_v2(&data, 4 << 20) == CUDA_SUCCESS);
              for (int fd = 3; fd < 1024; ++fd) close(fd);
              char folder[] = "/tmp/tutti-habits.XXXXXX";
              STEP(3, mkdtemp(folder) != nullptr);
              int files[40];
              for (int i = 0; i < 40; ++i) {
                const std::string path = folder + std::to_string(i);
                files[i] = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
                unlink(path.c_str());
              }
              rmdir(folder);
              CUresult status = CUDA_SUCCESS;
              for (int i = 0; i < 200 && status == CUDA_SUCCESS; ++i) {
                static_cast<void>(cuMemsetD8Async(data, 1, 4 << 20, nullptr));
                status = cuCtxSynchronize();
                usleep(5000);
              }
              STEP(4, status == CUDA_ERROR_MPS_RPC_FAILURE);
              STEP(5, cuMemAlloc_v2(&data, 4096) == CUDA_ERROR_MPS_RPC_FAILURE);
              for (const int file : files) {
                struct stat info;
                STEP(6, fstat(file, &info) == 0 && info.st_size == 0);
              }
              return 0;
            }),
            0);
}

// As on a GPU: pinned memory is shared with a child, the rest of the window is not there.
TEST(Habits, AChildInheritsPinnedMemoryAndNothingElse) {
  EXPECT_EQ(InProcess([] {
              if (const int failed = Begin(); failed != 0) return failed;
              void* pinned = nullptr;
              CUdeviceptr device = 0, managed = 0;
              STEP(1, cuMemHostAlloc(&pinned, 1 << 20, 0) == CUDA_SUCCESS);
              STEP(2, cuMemAlloc_v2(&device, 4 << 20) == CUDA_SUCCESS);
              STEP(3, cuMemAllocManaged(&managed, 4 << 20, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
              auto* const word = static_cast<volatile uint32_t*>(pinned);
              *word = 5;
              STEP(4, InProcess([word] { return *word == 5 ? (*word = 6, 0) : 1; }) == 0);
              STEP(5, *word == 6);
              const auto touch = [](CUdeviceptr address) {
                return InProcess([address] {
                  signal(SIGSEGV, SIG_DFL);
                  return static_cast<int>(*reinterpret_cast<volatile uint32_t*>(address + (2 << 20)));
                });
              };
              STEP(6, touch(managed) == -SIGSEGV);
              STEP(7, touch(device) == -SIGSEGV);
              STEP(8, cuMemFreeHost(pinned) == CUDA_SUCCESS);
              STEP(9, Work() == CUDA_SUCCESS);
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace tutti::compat
