// Quick code first, and the optimised code in its place.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "cuda/result.h"
#include "device/compile/code_store.h"
#include "device/compile/compiler_pool.h"
#include "device/compile/testing/code_test_base.h"

namespace tutti::device {
namespace {

namespace fs = std::filesystem;

// Waits until it is told.
class WaitingTaker final : public CodeTaker {
 public:
  void TakeCode(const LoadedCode& quick, const LoadedCode& code) override {
    quick_ = quick;
    code_ = code;
    ++told_;
    told_.notify_all();
  }
  LoadedCode Await() {
    told_.wait(0);
    return code_;
  }
  int told() const { return told_; }
  const LoadedCode& quick() const { return quick_; }

 private:
  LoadedCode quick_, code_;
  std::atomic<int> told_{0};
};

class QuickCode : public CodeTestBase {
 protected:
  static constexpr uint32_t kQuick = 7, kOptimized = 42;  // what their kernels make of the lanes
  static inline const Cancelled never_{false};

  static Result<LoadedCode> Get(CodeSource& store, const std::string& kernel, const Cancelled& client = never_) {
    const std::span<const uint8_t> image(reinterpret_cast<const uint8_t*>(kernel.data()), kernel.size());
    const uint32_t block[3] = {32, 1, 1};
    TUTTI_ASSIGN(const auto index, store.Index(image, client));
    return store.Kernel(image, *index, 0, block, client);
  }
  static uint32_t RunIt(const LoadedKernel& kernel) {
    guest::WarpState warp{};
    kernel.descriptor->run(&warp, 1);
    return warp.lanes;
  }
  static uint32_t Runs(const Result<LoadedCode>& kernel) {
    EXPECT_TRUE(kernel) << kernel.error().text;
    return kernel ? RunIt(**kernel) : 0;
  }
  // Whatever is not quick code is not answered meanwhile.
  void Hold() const { std::ofstream(folder_ / "log.hold").put(' '); }
  void LetGo() const { fs::remove(folder_ / "log.hold"); }
  void AwaitRequest(const std::string& what) const {
    while (CountOf(what) == 0) std::this_thread::yield();
  }
  long CacheEntries() const {
    const auto is_entry = [](const auto& file) { return !file.path().filename().string().starts_with("new-"); };
    return std::ranges::count_if(fs::directory_iterator(settings_.cache_folder), is_entry);
  }
};

TEST_F(QuickCode, IsThereFirstAndTheOptimisedOneTakesItsPlace) {
  const auto store = CreateCodeStore(settings_, Host());
  Hold();
  const auto quick = Get(*store, "hot");
  ASSERT_EQ(Runs(quick), kQuick);
  ASSERT_NE((*quick)->replacement, nullptr);
  EXPECT_TRUE((*quick)->is_quick);
  const auto taker = std::make_shared<WaitingTaker>();
  (*quick)->replacement->Await(*quick, taker);
  AwaitRequest("hot");
  EXPECT_EQ(taker->told(), 0);
  EXPECT_EQ(Get(*store, "hot").value_or(nullptr), *quick);
  LetGo();
  const LoadedCode code = taker->Await();
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(RunIt(*code), kOptimized);
  EXPECT_EQ(code->replacement, nullptr);
  EXPECT_FALSE(code->is_quick);
  EXPECT_EQ(taker->quick(), *quick);
  EXPECT_EQ(RunIt(**quick), kQuick) << "blocks that have begun end in it";
  EXPECT_EQ(Get(*store, "hot").value_or(nullptr), code);
  EXPECT_EQ(CountOf("hot.quick"), 1);
  EXPECT_EQ(CountOf("hot"), 1);
  EXPECT_EQ(Processes(), 1u) << "the image was parsed twice";
}

TEST_F(QuickCode, AKernelThatIsNotSuitedIsOptimisedAtOnce) {
  const auto store = CreateCodeStore(settings_, Host());
  const auto kernel = Get(*store, "good");
  EXPECT_EQ(Runs(kernel), kOptimized);
  EXPECT_EQ((*kernel)->replacement, nullptr);
  EXPECT_EQ(CountOf("good"), 1);
}

TEST_F(QuickCode, CanBeSwitchedOff) {
  settings_.quick_code = false;
  const auto store = CreateCodeStore(settings_, Host());
  EXPECT_EQ(Runs(Get(*store, "hot")), kOptimized);
  EXPECT_EQ(CountOf("hot.quick"), 0);
}

TEST_F(QuickCode, IsNotCached) {
  {
    const auto store = CreateCodeStore(settings_, Host());
    Hold();
    const auto quick = Get(*store, "hot");
    ASSERT_EQ(Runs(quick), kQuick);
    EXPECT_EQ(CacheEntries(), 1) << "the index";
    const auto taker = std::make_shared<WaitingTaker>();
    (*quick)->replacement->Await(*quick, taker);
    LetGo();
    ASSERT_NE(taker->Await(), nullptr);
    EXPECT_EQ(CacheEntries(), 2);
  }
  EXPECT_EQ(Runs(Get(*CreateCodeStore(settings_, Host()), "hot")), kOptimized);
  EXPECT_EQ(CountOf("hot"), 1);
  EXPECT_EQ(CountOf("hot.quick"), 1);
}

TEST_F(QuickCode, SeveralClientsShareBothCompilations) {
  const auto store = CreateCodeStore(settings_, Host());
  Hold();
  constexpr size_t kClients = 8;
  std::vector<LoadedCode> kernels(kClients);
  std::vector<std::shared_ptr<WaitingTaker>> takers(kClients);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i] {
      kernels[i] = Get(*store, "hot").value_or(nullptr);
      takers[i] = std::make_shared<WaitingTaker>();
      if (kernels[i] != nullptr) kernels[i]->replacement->Await(kernels[i], takers[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  LetGo();
  for (size_t i = 0; i < kClients; ++i) {
    ASSERT_NE(kernels[i], nullptr);
    EXPECT_EQ(kernels[i], kernels[0]);
    EXPECT_EQ(RunIt(*takers[i]->Await()), kOptimized);
    EXPECT_EQ(takers[i]->told(), 1);
  }
  EXPECT_EQ(CountOf("hot.quick"), 1);
  EXPECT_EQ(CountOf("hot"), 1);
}

// Whose optimised code the compiler dies of, or refuses.
TEST_F(QuickCode, StaysWhereTheOptimisedOneCannotBeHad) {
  const auto store = CreateCodeStore(settings_, Host());
  for (const std::string kernel : {"crash_later", "refuse_later"}) {
    auto quick = Get(*store, kernel);
    ASSERT_EQ(Runs(quick), kQuick) << kernel;
    const auto taker = std::make_shared<WaitingTaker>();
    (*quick)->replacement->Await(*quick, taker);
    // Until that is known: then it is loaded anew, and nothing is to come.
    do {
      quick = std::unexpected(Error{});
      quick = Get(*store, kernel);
      ASSERT_EQ(Runs(quick), kQuick) << kernel;
    } while ((*quick)->replacement != nullptr);
    EXPECT_TRUE((*quick)->is_quick);
    EXPECT_EQ(CountOf(kernel), 1) << kernel << " was compiled again";
    quick = std::unexpected(Error{});
    EXPECT_EQ(Runs(Get(*store, kernel)), kQuick);
    EXPECT_EQ(CountOf(kernel), 1) << kernel << " was compiled again";
    EXPECT_EQ(taker->told(), 0);
  }
}

// As where a client has had all of the server's descriptors for a while.
TEST_F(QuickCode, DoesNotStayBecauseTheServerHadNoRoom) {
  const auto store = CreateCodeStore(settings_, Host());
  Hold();
  const auto quick = Get(*store, "hot");
  ASSERT_EQ(Runs(quick), kQuick);
  const auto taker = std::make_shared<WaitingTaker>();
  (*quick)->replacement->Await(*quick, taker);
  AwaitRequest("hot");
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 1, .rlim_max = before.rlim_max};  // and poll watches as many
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  LetGo();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it has failed by now, most likely
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (int tries = 0; tries < 3000 && taker->told() == 0; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(taker->told(), 1);
  EXPECT_EQ(RunIt(*taker->Await()), kOptimized);
}

TEST_F(QuickCode, IsNotReplacedByCodeThatTakesOtherArguments) {
  const auto taker = std::make_shared<WaitingTaker>();
  LoadedCode quick;
  {
    const auto store = CreateCodeStore(settings_, Host());
    Hold();
    quick = Get(*store, "unlike").value_or(nullptr);
    ASSERT_NE(quick, nullptr);
    quick->replacement->Await(quick, taker);
    LetGo();
    while (CacheEntries() < 2) std::this_thread::yield();
  }
  EXPECT_EQ(taker->told(), 0);
}

TEST_F(QuickCode, ThatKillsTheCompilerOrCannotBeLoadedIsDoneWithout) {
  const auto store = CreateCodeStore(settings_, Host());
  EXPECT_EQ(Runs(Get(*store, "garbage_quick")), kOptimized);
  EXPECT_EQ(CountOf("garbage_quick.quick"), 1);
  std::ofstream(folder_ / "log.crash").put(' ');
  EXPECT_EQ(Runs(Get(*store, "hot")), kOptimized);
  EXPECT_EQ(CountOf("hot.quick"), 1);
}

// So that a program that is short gets the optimised code when it is started again.
TEST_F(QuickCode, IsFollowedByOptimisedCodeInTheCacheThoughItsClientHasGone) {
  const auto store = CreateCodeStore(settings_, Host());
  Hold();
  ASSERT_EQ(Runs(Get(*store, "hot")), kQuick);
  AwaitRequest("hot");
  LetGo();
  while (CacheEntries() < 2) std::this_thread::yield();
  EXPECT_EQ(Runs(Get(*CreateCodeStore(settings_, Host()), "hot")), kOptimized);
}

TEST_F(QuickCode, AStoreThatEndsEndsWhatIsUnderWay) {
  LoadedCode quick;
  const auto taker = std::make_shared<WaitingTaker>();
  {
    const auto store = CreateCodeStore(settings_, Host());
    Hold();
    quick = Get(*store, "hot").value_or(nullptr);
    ASSERT_NE(quick, nullptr);
    quick->replacement->Await(quick, taker);
    AwaitRequest("hot");
  }
  EXPECT_EQ(taker->told(), 0);
  EXPECT_EQ(RunIt(*quick), kQuick);
  EXPECT_EQ(kill(Requests().back().pid, 0), -1) << "the worker is still there";
}

class BackgroundInPool : public QuickCode {
 protected:
  void SetUp() override {
    QuickCode::SetUp();
    settings_.max_compilers = 1;
    settings_.background_patience_ns = ~0ull;
  }
  static Result<CompilerProcess::Answer> Ask(CompilerPool& pool, const std::string& kernel, bool in_background) {
    const std::span<const uint8_t> image(reinterpret_cast<const uint8_t*>("image"), 5);
    const compiler::CompileRequest request{.op = compiler::CompileOp::kKernel, .kernel = kernel};
    return in_background ? pool.CompileInBackground(request, image, HashOf(image), never_)
                         : pool.Compile(request, image, HashOf(image), never_);
  }
};

TEST_F(BackgroundInPool, TakesNoPlaceFromWhoComesLater) {
  CompilerPool pool(settings_, Host());
  Cancelled gone{false};
  std::thread background([&] {
    const std::span<const uint8_t> image(reinterpret_cast<const uint8_t*>("image"), 5);
    EXPECT_FALSE(
        pool.CompileInBackground({.op = compiler::CompileOp::kKernel, .kernel = "hang"}, image, HashOf(image), gone));
  });
  AwaitRequest("hang");
  // For the same client, which has no place in addition.
  std::thread foreground([&] {
    const std::span<const uint8_t> image(reinterpret_cast<const uint8_t*>("image"), 5);
    for (const char* kernel : {"good", "second"})
      EXPECT_TRUE(pool.Compile({.op = compiler::CompileOp::kKernel, .kernel = kernel}, image, HashOf(image), gone));
  });
  for (int tries = 0; tries < 6000 && CountOf("second") == 0; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(CountOf("second"), 1);
  foreground.join();
  gone = true;
  background.join();
  EXPECT_EQ(Processes(), 2u) << "the second worker was not kept";
}

TEST_F(BackgroundInPool, BeginsAfterAllWhoWait) {
  CompilerPool pool(settings_, Host());
  Hold();
  std::vector<std::thread> threads;
  threads.emplace_back([&] { EXPECT_TRUE(Ask(pool, "good", false)); });
  AwaitRequest("good");
  threads.emplace_back([&] { EXPECT_TRUE(Ask(pool, "unlike", true)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it waits by now, most likely
  threads.emplace_back([&] { EXPECT_TRUE(Ask(pool, "second", false)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(Requests().size(), 1u);
  LetGo();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Requests().at(1).what, "second");
  EXPECT_EQ(Requests().at(2).what, "unlike");
}

TEST_F(BackgroundInPool, BeginsAfterAWhileWhateverOthersWant) {
  settings_.background_patience_ns = 1'000'000;
  CompilerPool pool(settings_, Host());
  Hold();
  std::thread first([&] { EXPECT_TRUE(Ask(pool, "good", false)); });
  AwaitRequest("good");
  std::thread background([&] { EXPECT_TRUE(Ask(pool, "unlike", true)); });
  AwaitRequest("unlike");
  LetGo();
  first.join();
  background.join();
}

TEST_F(BackgroundInPool, InAdditionBeginsBesideOthersThatGoOnAndTakesNoPlaceOfTheirs) {
  settings_.background_patience_ns = 1'000'000;
  CompilerPool pool(settings_, Host());
  Cancelled gone{false}, first_gone{false};
  const std::span<const uint8_t> image(reinterpret_cast<const uint8_t*>("image"), 5);
  const auto ask = [&](const std::string& kernel, bool in_addition, const Cancelled& cancelled) {
    const compiler::CompileRequest request{.op = compiler::CompileOp::kKernel, .kernel = kernel};
    return pool.CompileInBackground(request, image, HashOf(image), cancelled, in_addition);
  };
  const auto await = [&](const std::string& kernel, long count) {
    for (int tries = 0; tries < 6000 && CountOf(kernel) < count; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(CountOf(kernel), count) << kernel;
  };
  std::thread endless([&] { EXPECT_FALSE(ask("hang", false, first_gone)); });
  await("hang", 1);
  std::thread second([&] { EXPECT_TRUE(ask("second", false, gone)); });
  std::thread also_endless([&] { EXPECT_FALSE(ask("hang", true, gone)); });
  await("hang", 2);
  EXPECT_EQ(CountOf("second"), 0);
  first_gone = true;
  endless.join();
  await("second", 1);
  second.join();
  gone = true;
  also_endless.join();
}

}  // namespace
}  // namespace tutti::device
