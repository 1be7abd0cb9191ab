// Code that goes through a row of blocks by itself, interrupted between any two of its steps.
#include "guest/exec/block_row.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::guest {
namespace {

// As the compiler writes it (compiler/link/block_loop.h), one step at a time.
class Code {
 public:
  explicit Code(BlockState* block) : block_(block), x_(block->ctaid[0]) {}

  bool has_returned() const { return step_ == Step::kReturned; }
  void Go() {
    switch (step_) {
      case Step::kWork:
        worked.push_back(x_);
        step_ = Step::kStore;
        break;
      case Step::kStore:
        block_->ctaid[0] = ++x_;
        step_ = Step::kLoad;
        break;
      case Step::kLoad:
        end_ = block_->ctaid_end;
        step_ = Step::kDecide;
        break;
      case Step::kDecide: step_ = x_ < end_ ? Step::kWork : Step::kReturned; break;
      case Step::kReturned: break;
    }
  }
  void GoToTheEnd() {
    while (!has_returned()) Go();
  }

  std::vector<uint32_t> worked;

 private:
  enum class Step { kWork, kStore, kLoad, kDecide, kReturned };

  BlockState* const block_;
  uint32_t x_;
  uint32_t end_ = 0;
  Step step_ = Step::kWork;
};

constexpr uint32_t kFirst = 5;

std::vector<uint32_t> UpTo(uint32_t last) {
  std::vector<uint32_t> blocks;
  for (uint32_t x = kFirst; x <= last; ++x) blocks.push_back(x);
  return blocks;
}

struct Row {
  explicit Row(uint32_t more) {
    block.ctaid[0] = kFirst;
    row.Begin();
    row.GoOn(more);
  }
  BlockState block{};
  BlockRow row{&block};
};

// Calls `check` with a row of 1 to 4 blocks and its code, which was interrupted between two steps.
template <typename Check>
void ForEachInterruption(Check&& check) {
  for (uint32_t more = 0; more < 4; ++more) {
    for (int steps = 0, last = 4 * (static_cast<int>(more) + 1); steps <= last; ++steps) {
      SCOPED_TRACE(testing::Message() << more << " more blocks, " << steps << " steps");
      Row run(more);
      Code code(&run.block);
      for (int i = 0; i < steps; ++i) code.Go();
      check(run, code, more);
    }
  }
}

TEST(BlockRow, ItsBlocksRunOnceEachInOrder) {
  for (uint32_t more = 0; more < 4; ++more) {
    Row run(more);
    Code code(&run.block);
    code.GoToTheEnd();
    EXPECT_EQ(code.worked, UpTo(kFirst + more));
    EXPECT_EQ(run.row.NoteProgress(), more);
    EXPECT_EQ(run.block.ctaid[0], kFirst + more);
    EXPECT_EQ(run.row.NoteProgress(), 0u);
  }
}

TEST(BlockRow, OneThatMayGoNoFurtherEndsWithTheBlockThatItIsSaidToBeIn) {
  ForEachInterruption([](Row& run, Code& code, uint32_t) {
    const uint32_t ended = run.row.NoteProgress();
    EXPECT_EQ(run.block.ctaid[0], kFirst + ended);
    EXPECT_GE(code.worked.size(), ended) << "those before it have ended";
    EXPECT_LE(code.worked.size(), ended + 1) << "none behind it has begun";
    run.row.GoOn(0);
    code.GoToTheEnd();
    EXPECT_EQ(code.worked, UpTo(kFirst + ended));
    EXPECT_EQ(run.row.NoteProgress(), 0u);
    EXPECT_EQ(run.block.ctaid[0], kFirst + ended);
  });
}

// What a signal handler does that cannot leave the code.
TEST(BlockRow, OneWhoseEndIsMovedToItGoesNoFurther) {
  ForEachInterruption([](Row& run, Code& code, uint32_t more) {
    const size_t worked = code.worked.size();
    run.row.EndHere();
    code.GoToTheEnd();
    const uint32_t ended = run.row.NoteProgress();
    EXPECT_EQ(code.worked, UpTo(kFirst + ended));
    EXPECT_LE(code.worked.size(), worked + 1);
    EXPECT_LE(ended, more);
  });
}

// Requests to a worker leave the code, and it goes on.
TEST(BlockRow, OneThatIsLookedAtGoesOnAsBefore) {
  ForEachInterruption([](Row& run, Code& code, uint32_t more) {
    const uint32_t ended = run.row.NoteProgress();
    code.GoToTheEnd();
    EXPECT_EQ(code.worked, UpTo(kFirst + more));
    EXPECT_EQ(ended + run.row.NoteProgress(), more);
  });
}

}  // namespace
}  // namespace tutti::guest
