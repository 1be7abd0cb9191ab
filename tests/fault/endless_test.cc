// Endless kernels end in every possible way: by SIGKILL of their client, by terminate_client, by a time limit for
// kernels; another client on the same SM runs meanwhile and afterwards. And by shutdown_server -f and quit -t, with
// everything that the server serves; the next client then gets a new server. Prints how long each took; the aim is 100
// ms.
//
//   endless_test CONTROL FILES...     with CUDA_MPS_PIPE_DIRECTORY of a running daemon, whose device should have one SM
//
// The files are run tests, or have an entry k that takes an address.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
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

constexpr int kLimitMs = 200;  // of time on the device, which is shared: on the clock this and the rest take longer
std::string control;

double MsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

run_test::TestCase ReadEndless(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // Any invalid address will do here.
  text = std::regex_replace(text, std::regex("\\$[a-z_]+"), "4096");
  if (text.find("// kernel:") == std::string::npos)
    text = "// kernel: k\n// block: 128\n// buffer flag: u32 x 64\n// argument: flag\n" + text;
  return run_test::ParseTestCase(text, path);
}

// Loads the kernel, waits until it may leave, launches, and stores the launch's result in `address`.
void RunEndless(ActorPage& page, const std::string& path) {
  const run_test::TestCase test = ReadEndless(path);
  CUmodule module;
  CUfunction kernel;
  Check(page, "cuModuleLoadData", cuModuleLoadData(&module, test.ptx.c_str()));
  Check(page, "cuModuleGetFunction", cuModuleGetFunction(&kernel, module, test.kernel.c_str()));
  std::vector<CUdeviceptr> addresses;
  for (const run_test::Buffer& buffer : test.buffers)
    Check(page, "cuMemAlloc", cuMemAlloc_v2(&addresses.emplace_back(), buffer.bytes.size()));
  std::vector<void*> arguments;
  for (const run_test::Argument& argument : test.arguments) {
    arguments.push_back(argument.buffer >= 0 ? static_cast<void*>(&addresses[static_cast<size_t>(argument.buffer)])
                                             : const_cast<uint8_t*>(argument.bytes.data()));
  }
  WaitToLeave(page);
  Check(page, "cuLaunchKernel",
        cuLaunchKernel(kernel, test.grid[0], test.grid[1], test.grid[2], test.block[0], test.block[1], test.block[2],
                       test.shared_bytes, nullptr, arguments.data(), nullptr));
  page.begun.store(true);
  page.address.store(static_cast<uint64_t>(cuCtxSynchronize()));
}

// Counts its correct results in `address`.
void Work(ActorPage& page) {
  static constexpr char kPtx[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry next(.param .u64 p) { .reg .b64 %d; .reg .b32 "
      "%r;\n"
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

enum class Way { kKill, kTerminate, kLimit, kShutdown, kQuit };
constexpr std::pair<Way, const char*> kWays[] = {{Way::kKill, "EndsWithItsClient"},
                                                 {Way::kTerminate, "EndsWhenItsClientIsTerminated"},
                                                 {Way::kLimit, "EndsByItsTimeLimit"},
                                                 {Way::kShutdown, "EndsWithItsServer"},
                                                 {Way::kQuit, "EndsWithTheDaemon"}};

// The control daemon's answer does not matter here.
int Ask(const std::string& command) {
  return std::system(fmt::format("'{}' {} > /dev/null", control, command).c_str());
}

class Endless : public testing::Test {
 public:
  Endless(std::string path, Way way) : path_(std::move(path)), way_(way) {}

  void TestBody() override {
    const bool alone = way_ == Way::kShutdown || way_ == Way::kQuit;
    std::optional<Actor> beside;
    if (!alone) {
      beside.emplace(Work);
      ASSERT_EQ(beside->AwaitReady(), "");
    }
    if (!alone) files_before_ = HoldingsOf(FirstServer(control)).memory_files;
    Actor endless([this](ActorPage& page) { RunEndless(page, path_); });
    ASSERT_EQ(endless.AwaitReady(), "");
    const pid_t server = FirstServer(control);
    if (way_ == Way::kLimit) {
      ASSERT_EQ(Ask(fmt::format("set_client_kernel_time {} {}", endless.pid(), kLimitMs)), 0);
    }
    endless.page().leave.store(true);
    if (way_ != Way::kLimit) AwaitRunning(beside, endless);
    begin_ = Clock::now();
    End(endless, server);
    fmt::print("{:.1f} ms\n", ended_ms_);
    if (!alone) {
      EXPECT_TRUE(GoesOn(*beside, 5)) << "afterwards";
      EXPECT_EQ(beside->Leave(), "");
      EXPECT_EQ(FirstServer(control), server) << "the server is another one";
      return;
    }
    while (!IsGone(server) && !Late()) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(IsGone(server)) << "the server has not ended";
    if (way_ == Way::kQuit) {
      ASSERT_EQ(Ask("-d"), 0);
    }
    Actor next(Work);
    EXPECT_EQ(next.AwaitReady(), "");
    EXPECT_EQ(next.Leave(), "");
  }

 private:
  void End(Actor& endless, pid_t server) {
    switch (way_) {
      case Way::kKill:
        endless.Kill();
        while (HoldingsOf(server).memory_files > files_before_ && !Late()) std::this_thread::sleep_for(200us);
        ended_ms_ = MsSince(begin_);
        EXPECT_EQ(HoldingsOf(server).memory_files, files_before_) << "its window and its channel are not given back";
        return;
      case Way::kTerminate:
        return ExpectTold(endless, fmt::format("terminate_client {} {}", server, endless.pid()),
                          CUDA_ERROR_MPS_CLIENT_TERMINATED);
      case Way::kLimit: return ExpectTold(endless, "get_server_list", CUDA_ERROR_LAUNCH_TIMEOUT);
      case Way::kShutdown:
        return ExpectTold(endless, fmt::format("shutdown_server {} -f", server), CUDA_ERROR_MPS_CLIENT_TERMINATED);
      case Way::kQuit: return ExpectTold(endless, "quit -t 0", CUDA_ERROR_MPS_CLIENT_TERMINATED);
    }
  }

  // The result after this command, which may take longer.
  void ExpectTold(Actor& endless, const std::string& command, CUresult told) {
    std::thread shell([&] { EXPECT_EQ(Ask(command), 0); });
    EXPECT_EQ(endless.AwaitEnd(), "");
    ended_ms_ = MsSince(begin_);
    EXPECT_EQ(endless.page().address.load(), static_cast<uint64_t>(told));
    shell.join();
  }
  // The kernel runs; nobody else has to wait for it.
  void AwaitRunning(std::optional<Actor>& beside, Actor& endless) const {
    while (!endless.page().begun.load() && !endless.page().failed.load() && !Late()) std::this_thread::sleep_for(1ms);
    if (beside) {
      EXPECT_TRUE(GoesOn(*beside, 5)) << "while it runs";
    } else {
      std::this_thread::sleep_for(20ms);
    }
    EXPECT_EQ(endless.page().failure, std::string());
    EXPECT_EQ(endless.page().address.load(), 0u) << "it has ended by itself";
  }
  static bool GoesOn(Actor& beside, uint64_t rounds) {
    const uint64_t goal = beside.page().address.load() + rounds;
    for (const auto end = Clock::now() + 60s; Clock::now() < end && !beside.page().failed.load();
         std::this_thread::sleep_for(1ms)) {
      if (beside.page().address.load() >= goal) return true;
    }
    return false;
  }
  static bool IsGone(pid_t pid) { return kill(pid, 0) != 0; }
  bool Late() const { return Clock::now() > late_; }

  const std::string path_;
  const Way way_;
  size_t files_before_ = 0;
  double ended_ms_ = 0;
  Clock::time_point begin_;
  const Clock::time_point late_ = Clock::now() + 60s;
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
    for (const auto& [way, claim] : tutti::fault::kWays) {
      testing::RegisterTest(claim, name.c_str(), nullptr, nullptr, argv[i], 1,
                            [=, way = way]() -> testing::Test* { return new tutti::fault::Endless(path, way); });
    }
  }
  return RUN_ALL_TESTS();
}
