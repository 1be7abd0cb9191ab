// The program tutti-fence as the device starts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <string>
#include <vector>

#include "compiler/protocol/fenced_image.h"
#include "compiler/serving/testing/worker.h"
#include "cuda/result.h"
#include "os/confinement/sanitized.h"
#include "os/socket.h"

namespace tutti::compiler {
namespace {

class Fencer : public WorkerTest {
 protected:
  Fencer() : WorkerTest(TUTTI_FENCE) {}
};

TEST_F(Fencer, FencesAModuleAndSaysWhatCannotBe) {
  const Answer answer = Ask({.op = CompileOp::kFence}, kModule);
  ASSERT_EQ(answer.reply.status, 0) << answer.reply.log;
  const auto fenced = ParseFencedImage(answer.bytes);
  ASSERT_TRUE(fenced) << fenced.error().text;
  EXPECT_THAT(fenced->ptx, testing::HasSubstr("__tutti_check"));
  EXPECT_EQ(fenced->functions, (std::vector<std::string>{"fill", "broken"}));
  ASSERT_EQ(fenced->refused.size(), 1u);
  EXPECT_THAT(fenced->refused.at("broken"), testing::HasSubstr("frobnicate"));
}

TEST(FencedImage, ThatIsCutShortIsNone) {
  const FencedImage image{.ptx = "text", .functions = {"k", "f"}, .refused = {{"f", "why"}}};
  const std::vector<uint8_t> bytes = Serialize(image);
  const auto whole = ParseFencedImage(bytes);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->refused, image.refused);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(ParseFencedImage(std::span(bytes).first(size))) << size;
}

TEST_F(Fencer, MakesNoCode) {
  EXPECT_EQ(Ask({.op = CompileOp::kKernel, .kernel = "fill", .block = {64, 1, 1}}, kModule).reply.status,
            cuda::CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Fencer, GoesFirstWhereTheMachinesMemoryRunsOut) {
  EXPECT_EQ(Ask({.op = CompileOp::kFence}, kModule).reply.status, 0);
  int score = 0;
  std::ifstream("/proc/" + std::to_string(process_) + "/oom_score_adj") >> score;
  EXPECT_EQ(score, 1000);
}

TEST_F(Fencer, GoesOnAfterRequestsThatFail) {
  const Answer syntax = Ask({.op = CompileOp::kFence}, ".version 8.0\n.target sm_80\n.address_size 64\n.entry k( {");
  EXPECT_EQ(syntax.reply.status, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(syntax.reply.log, testing::HasSubstr("^"));
  EXPECT_EQ(Ask({.op = CompileOp::kFence}, "").reply.status, cuda::CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(Ask({.op = CompileOp::kFence}, kModule).reply.status, 0);
}

TEST_F(Fencer, SaysThatAnImageNeedsTooMuchMemory) {
  if (os::kSanitized) GTEST_SKIP() << "there is no sandbox, whose limit this is";
  EXPECT_EQ(Ask({.op = CompileOp::kFence}, kModule).reply.status, 0);
  const rlimit less = {64 << 20, 64 << 20};
  ASSERT_EQ(prlimit(process_, RLIMIT_AS, &less, nullptr), 0);
  std::string module = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r;\n";
  for (int i = 0; i < 500'000; ++i) module += "mov.b32 %r,%r;\n";
  const Answer answer = Ask({.op = CompileOp::kFence}, module + "ret;\n}\n");
  EXPECT_EQ(answer.reply.status, cuda::CUDA_ERROR_OUT_OF_MEMORY) << answer.reply.log;
  const Answer unread = Ask({.op = CompileOp::kFence}, std::string(128 << 20, ' '));
  EXPECT_EQ(unread.reply.status, cuda::CUDA_ERROR_OUT_OF_MEMORY) << unread.reply.log;
  EXPECT_EQ(Ask({.op = CompileOp::kFence}, kModule).reply.status, 0);
}

TEST_F(Fencer, EndsWhenAPeerBreaksTheProtocol) {
  expect_clean_end_ = false;
  ASSERT_TRUE(os::Send(socket_.get(), std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(Receive().reply.status, -1);
}

}  // namespace
}  // namespace tutti::compiler
