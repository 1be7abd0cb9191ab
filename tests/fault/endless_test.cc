// Kernels that never end are ended: by SIGKILL of their client, and by a limit on the time that a kernel may run. Another
// client, on the same SM, goes on meanwhile and afterwards. How long it took is said; the aim is 100 ms.
//
//   endless_test CONTROL FILES...     with CUDA_MPS_PIPE_DIRECTORY of a running daemon, whose device should have one SM
//
// The files are run tests, or have an entry k that takes an address.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <thread>

#include "../run/test_case.h"
#include "actor.h"
#include "holdings.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;
using namespace cuda;
using Clock = std::chrono::steady_clock;

constexpr int kLimitMs = 200;  // of time on the device, which it shares: so this and the rest take longer on the clock
std::string control;

double MsSince(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

run_test::TestCase ReadEndless(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // Nobody's address will do here.
  text = std::regex_replace(text, std::regex("\\$[a-z_]+"), "4096");
  if (text.find("// kernel:") == std::string::npos) text = "// kernel: k\n// block: 128\n// buffer flag: u32 x 64\n// argument: flag\n" + text;
  return run_test::ParseTestCase(text, path);
}

// Loads it, waits until it may leave, launches, and notes in `address` what the launch ended with.
void RunEndless(ActorPage& page, const std::string& path) {
  const run_test::TestCase test = ReadEndless(path);
  CUmodule module;
  CUfunction kernel;
  Check(page, "cuModuleLoadData", cuModuleLoadData(&module, test.ptx.c_str()));
  Check(page, "cuModuleGetFunction", cuModuleGetFunction(&kernel, module, test.kernel.c_str()));
  // So that nothing is compiled later.
  int threads = 0;
  Check(page, "cuFuncLoad", cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel));
  std::vector<CUdeviceptr> addresses;
  for (const run_test::Buffer& buffer : test.buffers) Check(page, "cuMemAlloc", cuMemAlloc_v2(&addresses.emplace_back(), buffer.bytes.size()));
  std::vector<void*> arguments;
  for (const run_test::Argument& argument : test.arguments) {
    arguments.push_back(argument.buffer >= 0 ? static_cast<void*>(&addresses[static_cast<size_t>(argument.buffer)])
                                             : const_cast<uint8_t*>(argument.bytes.data()));
  }
  WaitToLeave(page);
  Check(page, "cuLaunchKernel", cuLaunchKernel(kernel, test.grid[0], test.grid[1], test.grid[2], test.block[0], test.block[1], test.block[2],
                                               test.shared_bytes, nullptr, arguments.data(), nullptr));
  page.address.store(static_cast<uint64_t>(cuCtxSynchronize()));
}

// Counts its own right results in `address`.
void Work(ActorPage& page) {
  static constexpr char kPtx[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry next(.param .u64 p) { .reg .b64 %d; .reg .b32 %r;\n"
      "ld.param.u64 %d, [p]; ld.global.u32 %r, [%d]; add.u32 %r, %r, 1; st.global.u32 [%d], %r; ret; }\n";
  CUmodule module;
  CUfunction next;
  CUdeviceptr word;
  Check(page, "cuModuleLoadData", cuModuleLoadData(&module, kPtx));
  Check(page, "cuModuleGetFunction", cuModuleGetFunction(&next, module, "next"));
  Check(page, "cuMemAlloc", cuMemAlloc_v2(&word, 4));
  for (uint32_t expected = 1; !page.leave.load(); ++expected) {
    void* arguments[] = {&word};
    uint32_t found = 0;
    Check(page, "cuLaunchKernel", cuLaunchKernel(next, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    Check(page, "cuMemcpyDtoH", cuMemcpyDtoH_v2(&found, word, 4));
    if (found != expected) GiveUp(page, fmt::format("the word is {}, not {}", found, expected));
    page.address.store(expected);
    page.ready.store(true);
    std::this_thread::sleep_for(1ms);
  }
}

class Endless : public testing::Test {
 public:
  Endless(std::string path, bool by_limit) : path_(std::move(path)), by_limit_(by_limit) {}

  void TestBody() override {
    Actor beside(Work);
    ASSERT_EQ(beside.AwaitReady(), "");
    const pid_t server = FirstServer(control);
    Actor endless([this](ActorPage& page) { RunEndless(page, path_); });
    ASSERT_EQ(endless.AwaitReady(), "");
    if (by_limit_) {
      const std::string line = fmt::format("'{}' set_client_kernel_time {} {} > /dev/null", control, endless.pid(), kLimitMs);
      ASSERT_EQ(std::system(line.c_str()), 0);
    }
    endless.page().leave.store(true);
    const auto begin = Clock::now();
    if (by_limit_) {
      EXPECT_EQ(endless.AwaitEnd(), "");
      EXPECT_EQ(endless.page().address.load(), uint64_t{CUDA_ERROR_LAUNCH_TIMEOUT});
      fmt::print("told after {:.1f} ms that its kernel has taken more than {} ms of the device\n", MsSince(begin), kLimitMs);
    } else {
      EXPECT_TRUE(GoesOn(beside, 5)) << "while it runs";
      EXPECT_EQ(endless.page().failure, std::string());
      const auto killed = Clock::now();
      endless.Kill();
      while (WindowsOf(server) > 1 && Clock::now() < killed + 60s) std::this_thread::sleep_for(200us);
      EXPECT_EQ(WindowsOf(server), 1u) << "its window is not given back";
      fmt::print("all that it had is back {:.1f} ms after the kill\n", MsSince(killed));
    }
    EXPECT_TRUE(GoesOn(beside, 5)) << "afterwards";
    EXPECT_EQ(beside.Leave(), "");
    EXPECT_EQ(FirstServer(control), server) << "the server is another one";
  }

 private:
  static bool GoesOn(Actor& beside, uint64_t rounds) {
    const uint64_t goal = beside.page().address.load() + rounds;
    for (const auto end = Clock::now() + 60s; Clock::now() < end && !beside.page().failed.load(); std::this_thread::sleep_for(1ms)) {
      if (beside.page().address.load() >= goal) return true;
    }
    return false;
  }

  const std::string path_;
  const bool by_limit_;
};

}  // namespace
}  // namespace tutti::fault

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 3) {
    fmt::print(stderr, "usage: {} CONTROL FILES...\n", argv[0]);
    return 3;
  }
  tutti::fault::control = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string path = argv[i], name = std::filesystem::path(path).stem();
    for (const bool by_limit : {false, true}) {
      testing::RegisterTest(by_limit ? "EndsByItsTimeLimit" : "EndsWithItsClient", name.c_str(), nullptr, nullptr, argv[i], 1,
                            [=]() -> testing::Test* { return new tutti::fault::Endless(path, by_limit); });
    }
  }
  return RUN_ALL_TESTS();
}
