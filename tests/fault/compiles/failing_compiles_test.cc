// A long-lived shared server: whatever happens to the compiler on clients' images (errors, a crash, no answer, no
// memory, texts of a hundred megabytes) costs that load an error and the server nothing. It holds afterwards what it
// held before, and clients that load something else meanwhile are served.
//
//   failing_compiles_test CONTROL      beside a daemon whose servers use bad_compiler (TUTTI_COMPILER), with
//                                      TUTTI_COMPILE_SECONDS=2, but for those of the tests WhoIs...: nobody is to wait
//                                      there for the limit
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "../actor.h"
#include "../control_main.h"
#include "../holdings.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;
using namespace cuda;

// A different kernel for each number.
std::string Good(uint64_t number) {
  return fmt::format(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {{ .reg .b64 %d; ld.param.u64 "
      "%d, [p];\n"
      "st.global.u32 [%d], {}; ret; }}\n",
      number);
}
std::string Bad(const char* how, int number) {
  return fmt::format("// bad compiler: {}\n{}", how, Good(static_cast<uint64_t>(number)));
}
// Its code generation takes megabytes.
std::string Large(int number) {
  std::string text = Good(static_cast<uint64_t>(number)), more;
  for (int i = 0; i < 2000; ++i) more += fmt::format("add.u64 %d, %d, {}; sub.u64 %d, %d, {};\n", i, i);
  return text.insert(text.find("ld.param"), ".reg .b32 %x;\n").insert(text.find("st.global"), more);
}

// The result of the load, or of the launch of its kernel.
CUresult Load(const std::string& text) {
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr word = 0;
  if (const CUresult error = cuModuleLoadData(&module, text.c_str())) return error;
  CUresult result = cuModuleGetFunction(&kernel, module, "k");
  if (result == CUDA_SUCCESS) result = cuMemAlloc_v2(&word, 4);
  void* arguments[] = {&word};
  if (result == CUDA_SUCCESS) result = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
  if (result == CUDA_SUCCESS) result = cuCtxSynchronize();
  if (word != 0) (void)cuMemFree_v2(word);
  (void)cuModuleUnload(module);
  return result;
}

void MustFail(ActorPage& page, const char* what, const std::string& text) {
  if (Load(text) == CUDA_SUCCESS) GiveUp(page, fmt::format("{}: is loaded", what));
}

void MustLoadAndRun(ActorPage& page, uint64_t number) {
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr word;
  uint32_t found = 0;
  Check(page, "cuModuleLoadData", cuModuleLoadData(&module, Good(number).c_str()));
  Check(page, "cuModuleGetFunction", cuModuleGetFunction(&kernel, module, "k"));
  Check(page, "cuMemAlloc", cuMemAlloc_v2(&word, 4));
  void* arguments[] = {&word};
  Check(page, "cuLaunchKernel", cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  Check(page, "cuMemcpyDtoH", cuMemcpyDtoH_v2(&found, word, 4));
  if (found != number) GiveUp(page, fmt::format("the kernel gives {} and not {}", found, number));
  Check(page, "cuModuleUnload", cuModuleUnload(module));
  Check(page, "cuMemFree", cuMemFree_v2(word));
}

uint64_t NewNumber() {
  static uint64_t next = static_cast<uint64_t>(getpid()) << 8;
  return next++ & 0xffff'ffff;
}

// A sanitizer's run-time keeps freed memory, and reports failed allocations.
bool HasSanitizer() { return std::getenv("ASAN_OPTIONS") != nullptr || std::getenv("TSAN_OPTIONS") != nullptr; }

class FailingCompiles : public testing::Test {
 protected:
  void SetUp() override {
    RunToTheEnd([](ActorPage& page) {
      MustLoadAndRun(page, NewNumber());
      MustFail(page, "crash", Bad("crash", 0));
    });
    server_ = FirstServer(control);
    ASSERT_GT(server_, 0);
    std::this_thread::sleep_for(200ms);
    before_ = Held();
  }
  void TearDown() override {
    EXPECT_EQ(FirstServer(control), server_) << "the server is another one";
    Holdings now;
    for (int i = 0; i < 500; ++i) {
      now = Held();
      const bool grown = now.resident_bytes > before_.resident_bytes + kGrowthBytes && !HasSanitizer();
      if (now.IsWithin(before_) && !grown) return;
      std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << fmt::format(
        "the server holds {} descriptors, {} threads, {} memory files, {} KiB; before: {}, {}, {}, {} KiB",
        now.descriptors, now.threads, now.memory_files, now.resident_bytes >> 10, before_.descriptors, before_.threads,
        before_.memory_files, before_.resident_bytes >> 10);
  }

  // Without descriptors to compilers, which stay for a while.
  Holdings Held() const {
    Holdings holdings = HoldingsOf(server_);
    // Its one child is the process that starts them.
    for (const pid_t host : ChildrenOf(server_)) {
      holdings.descriptors -= kDescriptorsOfACompiler * ChildrenOf(host).size();
    }
    return holdings;
  }
  static std::vector<pid_t> ChildrenOf(pid_t parent) {
    std::vector<pid_t> all;
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", parent), error)) {
      std::ifstream children(task.path() / "children");
      for (pid_t child; children >> child;) all.push_back(child);
    }
    return all;
  }
  static void RunToTheEnd(const std::function<void(ActorPage&)>& act) {
    Actor actor(act);
    EXPECT_EQ(actor.AwaitEnd(), "");
  }
  // Clients that wait for a compiler which never answers.
  std::vector<std::unique_ptr<Actor>> Hung(int count) {
    std::vector<std::unique_ptr<Actor>> hung;
    for (int i = 0; i < count; ++i) {
      hung.push_back(std::make_unique<Actor>([i](ActorPage& page) {
        page.ready.store(true);
        page.address.store(1 + static_cast<uint64_t>(Load(Bad("hang", i))));
      }));
    }
    for (const auto& actor : hung) EXPECT_EQ(actor->AwaitReady(), "");
    return hung;
  }

  static constexpr size_t kDescriptorsOfACompiler = 2;  // its socket and its lifeline
  static constexpr size_t kGrowthBytes = 12 << 20;  // for compiled code that stays loaded, and a heap in pieces
  pid_t server_ = 0;
  Holdings before_;
};

TEST_F(FailingCompiles, TextsWithErrorsLeaveNothing) {
  RunToTheEnd([](ActorPage& page) {
    // Long errors, each text another.
    const std::string wrong = "frobnicate.u32 %r1, %r2;\n";
    for (int i = 0; i < 8; ++i) {
      std::string text =
          fmt::format("// {}\n.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {{\n", i);
      for (int k = 0; k < 2000; ++k) text += wrong;
      MustFail(page, "unknown instructions", text + "}\n");
      MustFail(page, "text cut short", Good(static_cast<uint64_t>(i)).substr(0, 100));
      MustFail(page, "noise", fmt::format("noise {}", i));
    }
  });
}

TEST_F(FailingCompiles, CrashesLeaveNothing) {
  RunToTheEnd([](ActorPage& page) {
    for (int i = 0; i < 10; ++i) MustFail(page, "crash", Bad("crash", i));
    MustLoadAndRun(page, NewNumber());
  });
}

TEST_F(FailingCompiles, ACompilerWithoutMemoryLeavesNothing) {
  if (HasSanitizer()) GTEST_SKIP() << "memory is the sanitizer's";
  RunToTheEnd([](ActorPage& page) {
    for (int i = 0; i < 3; ++i) MustFail(page, "exhausted", "// bad compiler: exhaust\n" + Large(i));
    MustLoadAndRun(page, NewNumber());
  });
}

TEST_F(FailingCompiles, WhoIsKilledWhileItsKernelIsCompiledLeavesNothing) {
  auto hung = Hung(2);
  std::this_thread::sleep_for(100ms);
  for (const auto& actor : hung) {
    EXPECT_EQ(actor->page().address.load(), 0u) << "nothing was compiled";
    actor->Kill();
  }
}

TEST_F(FailingCompiles, WhoIsTerminatedWhileItsKernelIsCompiledIsToldSo) {
  auto hung = Hung(1);
  ASSERT_EQ(
      std::system(fmt::format("'{}' terminate_client {} {} > /dev/null", control, server_, hung[0]->pid()).c_str()), 0);
  EXPECT_EQ(hung[0]->AwaitEnd(), "");
  EXPECT_EQ(hung[0]->page().address.load(), 1u + CUDA_ERROR_MPS_CLIENT_TERMINATED);
}

constexpr int kHung = 5;  // more than there are compilers, and threads that wait for them

TEST_F(FailingCompiles, CompilersThatHangAreGivenUpAtTheTimeLimit) {
  for (const auto& actor : Hung(kHung)) {
    EXPECT_EQ(actor->AwaitEnd(), "");
    EXPECT_EQ(actor->page().address.load(), 1u + CUDA_ERROR_UNKNOWN);
  }
}

TEST_F(FailingCompiles, WhoIsBesideCompilersThatHangIsNotHeldUp) {
  auto hung = Hung(kHung);
  RunToTheEnd([](ActorPage& page) { MustLoadAndRun(page, NewNumber()); });
  for (const auto& actor : hung) {
    EXPECT_EQ(actor->page().address.load(), 0u) << "it had been given up before";
    actor->Kill();
  }
}

TEST_F(FailingCompiles, AHundredMegabytesOfTextEndAtTheTimeLimit) {
  RunToTheEnd([](ActorPage& page) {
    std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<4>;\n";
    const std::string line = "mad.lo.u32 %r1, %r2, 77, %r3; add.u32 %r2, %r1, %r3; xor.b32 %r3, %r1, %r2;\n";
    text.reserve(101 << 20);
    while (text.size() < 100 << 20) text += line;
    MustFail(page, "a hundred megabytes", text + "ret; }\n");
    MustLoadAndRun(page, NewNumber());
  });
}

}  // namespace
}  // namespace tutti::fault
