#include "daemon/loop/log_fifo.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace tutti::daemon {
namespace {

// Lines as they come out, by a clock that stands still.
class LogFifoTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe2(ends_, O_NONBLOCK | O_CLOEXEC), 0); }
  ~LogFifoTest() override {
    for (const int end : ends_) close(end);
  }
  // Whoever can open it writes; the daemon reads all of it.
  void Write(const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t count = write(ends_[1], text.data() + done, text.size() - done);
      if (count > 0) done += static_cast<size_t>(count);
      loop_->After(1, [this] { loop_->Stop(); });
      loop_->Run();
    }
    for (int round = 0; round < 32; ++round) {  // what a pipe holds, in reads of 4 KiB
      loop_->After(1, [this] { loop_->Stop(); });
      loop_->Run();
    }
  }

  int ends_[2] = {-1, -1};
  std::vector<std::string> lines_;
  LogBudget log_{[this](log::Level, std::string_view line) { lines_.emplace_back(line); }, [] { return 0; }};
  std::unique_ptr<EventLoop> loop_ = std::move(*EventLoop::Create());
};

TEST_F(LogFifoTest, ALineThatIsWrittenThereIsInTheLog) {
  LogFifo fifo(*loop_, ends_[0], log_);
  Write("a job begins\nand");
  EXPECT_EQ(lines_, std::vector<std::string>{"Other: a job begins"});
}

TEST_F(LogFifoTest, WhoeverFillsItFillsTheShareOfOnePartyAndNoMore) {
  LogFifo fifo(*loop_, ends_[0], log_);
  const std::string line(500, 'x');
  std::string flood;
  for (uint64_t written = 0; written < 2 * LogBudget::kBurstBytes; written += line.size()) flood += line + "\n";
  Write(flood);
  size_t bytes = 0;
  for (const std::string& logged : lines_) bytes += logged.size();
  EXPECT_GT(bytes, LogBudget::kBurstBytes / 2);
  EXPECT_LE(bytes, LogBudget::kBurstBytes);
  EXPECT_NE(lines_.back().find("come too fast"), std::string::npos) << lines_.back();
  log_.Info("user 1000", "somebody else's");
  EXPECT_EQ(lines_.back(), "somebody else's");
}

}  // namespace
}  // namespace tutti::daemon
