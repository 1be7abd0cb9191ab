// The program tutti-compiler as the device starts it.
#include "compiler/serving/testing/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cuda/result.h"
#include "module/module_index.h"
#include "os/socket.h"

namespace tutti {
namespace {

class Worker : public compiler::WorkerTest {
 protected:
  Worker() : WorkerTest(TUTTI_COMPILER) {}
};

TEST_F(Worker, IndexesAModuleAndNamesTheKernelThatIsBroken) {
  const Answer answer = Ask({.op = compiler::CompileOp::kIndex}, kModule);
  ASSERT_EQ(answer.reply.status, 0) << answer.reply.log;
  const auto index = module::ParseModuleIndex(answer.bytes);
  ASSERT_TRUE(index) << index.error().text;
  ASSERT_EQ(index->kernels.size(), 2u);
  EXPECT_EQ(index->kernels[0].name, "fill");
  EXPECT_EQ(index->kernels[0].error, "");
  EXPECT_THAT(index->kernels[1].error, testing::HasSubstr("frobnicate"));
  ASSERT_EQ(index->variables.size(), 1u);
}

TEST_F(Worker, MakesNothingForAGpu) {
  EXPECT_EQ(Ask({.op = compiler::CompileOp::kFence}, kModule).reply.status, cuda::CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Worker, CompilesAKernelToASharedObject) {
  const Answer answer = Ask({.op = compiler::CompileOp::kKernel, .kernel = "fill", .block = {64, 1, 1}}, kModule);
  ASSERT_EQ(answer.reply.status, 0) << answer.reply.log;
  ASSERT_GT(answer.bytes.size(), 4u);
  EXPECT_EQ(std::string(answer.bytes.begin(), answer.bytes.begin() + 4), "\177ELF");
}

// Whether there is quick code of the kernel or not. Why one cannot be compiled is what its optimised compilation says.
TEST_F(Worker, AskedForQuickCodeItAnswersWithCode) {
  for (int i = 0; i < 2; ++i) {
    const Answer answer =
        Ask({.op = compiler::CompileOp::kKernel, .kernel = "fill", .block = {64, 1, 1}, .quick = true}, kModule);
    ASSERT_EQ(answer.reply.status, 0) << answer.reply.log;
    EXPECT_EQ(std::string(answer.bytes.begin(), answer.bytes.begin() + 4), "\177ELF");
  }
  const Answer broken = Ask({.op = compiler::CompileOp::kKernel, .kernel = "broken", .quick = true}, kModule);
  EXPECT_EQ(broken.reply.status, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(broken.reply.log, testing::HasSubstr("frobnicate"));
  EXPECT_FALSE(broken.reply.is_quick);
  EXPECT_FALSE(Ask({.op = compiler::CompileOp::kIndex, .quick = true}, kModule).reply.is_quick);
}

// The kernel counts them for the user, and lets a process without privileges send no more once they are more than that
// process may have open; a compiler may have few.
TEST_F(Worker, AnswersWhileItsUserHasManyDescriptorsInFlight) {
  constexpr int kMany = 100;  // more than the sandbox allows
  auto unread = *os::SocketPair();
  const int fds[] = {unread.first.get()};
  for (int i = 0; i < kMany; ++i) ASSERT_TRUE(os::Send(unread.first.get(), std::vector<uint8_t>(1), fds));
  const Answer answer = Ask({.op = compiler::CompileOp::kKernel, .kernel = "fill", .block = {64, 1, 1}}, kModule);
  EXPECT_EQ(answer.reply.status, 0) << answer.reply.log;
}

// Long live ranges: what the register allocator does with them depends on its search budget.
std::string ManyLiveValues() {
  constexpr int kValues = 48, kBlocks = 160;
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u32 n) {\n"
      ".reg .pred %p; .reg .b32 %n, %t; .reg .b64 %a; .reg .f32 %f<" +
      std::to_string(kValues) +
      ">;\n"
      "ld.param.u64 %a, [in]; ld.param.u32 %n, [n];\n";
  const auto value = [](int number) { return "%f" + std::to_string(number % kValues); };
  for (int i = 0; i < kValues; ++i) text += "ld.global.f32 " + value(i) + ", [%a+" + std::to_string(4 * i) + "];\n";
  text += "ROUND:\n";
  for (int i = 0; i < kBlocks; ++i) {
    const std::string label = "L" + std::to_string(i);
    text += "and.b32 %t, %n, " + std::to_string(1 + i * 7 % 255) + "; setp.eq.u32 %p, %t, 0;\n@%p bra " + label + ";\n";
    text += "fma.rn.f32 " + value(i) + ", " + value(5 * i + 1) + ", " + value(11 * i + 2) + ", " + value(i) + ";\n" +
            label + ":\n";
  }
  text += "sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0;\n@%p bra ROUND;\n";
  for (int i = 0; i < kValues; ++i) text += "st.global.f32 [%a+" + std::to_string(4 * i) + "], " + value(i) + ";\n";
  return text + "ret;\n}\n";
}

// Independently of what it has compiled before, such as the warm-up kernel.
TEST_F(Worker, MakesWhatTheCommandLineMakes) {
  const std::string module = ManyLiveValues();
  const std::string input = testing::TempDir() + "/worker_test." + std::to_string(getpid()), output = input + ".so";
  std::ofstream(input) << module;
  ASSERT_EQ(std::system((TUTTI_COMPILER " --emit so -k k -b 64 -o " + output + " " + input).c_str()), 0);
  std::ifstream file(output, std::ios::binary);
  const std::vector<uint8_t> expected(std::istreambuf_iterator<char>(file), {});
  unlink(input.c_str());
  unlink(output.c_str());
  ASSERT_GT(expected.size(), 0u);
  const Answer answer = Ask({.op = compiler::CompileOp::kKernel, .kernel = "k", .block = {64, 1, 1}}, module);
  ASSERT_EQ(answer.reply.status, 0) << answer.reply.log;
  EXPECT_TRUE(answer.bytes == expected) << answer.bytes.size() << " bytes, not " << expected.size();
}

TEST_F(Worker, CompilesAKernelOfTheLongestName) {
  const std::string name(module::kMostNameBytes, 'k');
  const std::string module = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry " + name + "() { ret; }\n";
  EXPECT_EQ(Ask({.op = compiler::CompileOp::kKernel, .kernel = name, .block = {64, 1, 1}}, module).reply.status, 0);
}

TEST_F(Worker, GoesFirstWhereTheMachinesMemoryRunsOut) {
  EXPECT_EQ(Ask({.op = compiler::CompileOp::kIndex}, kModule).reply.status, 0);
  int score = 0;
  std::ifstream("/proc/" + std::to_string(process_) + "/oom_score_adj") >> score;
  EXPECT_EQ(score, 1000);
}

TEST_F(Worker, GoesOnAfterRequestsThatFail) {
  EXPECT_EQ(Ask({.op = compiler::CompileOp::kKernel, .kernel = "missing"}, kModule).reply.status,
            cuda::CUDA_ERROR_NOT_FOUND);
  const Answer broken = Ask({.op = compiler::CompileOp::kKernel, .kernel = "broken"}, kModule);
  EXPECT_EQ(broken.reply.status, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(broken.reply.log, testing::HasSubstr("frobnicate"));
  const Answer syntax =
      Ask({.op = compiler::CompileOp::kIndex}, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k( {");
  EXPECT_EQ(syntax.reply.status, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(syntax.reply.log, testing::HasSubstr("^"));
  EXPECT_EQ(Ask({.op = compiler::CompileOp::kIndex}, std::string("\x7f"
                                                                 "ELFgarbage",
                                                                 11))
                .reply.status,
            cuda::CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(Ask({.op = compiler::CompileOp::kIndex}, "").reply.status, cuda::CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(Ask({.op = compiler::CompileOp::kIndex}, kModule).reply.status, 0);
}

TEST_F(Worker, EndsWhenAPeerBreaksTheProtocol) {
  expect_clean_end_ = false;
  ASSERT_TRUE(os::Send(socket_.get(), std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(Receive().reply.status, -1);
}

}  // namespace
}  // namespace tutti
