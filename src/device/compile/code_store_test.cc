#include "device/compile/code_store.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <barrier>
#include <cstring>
#include <thread>

#include "cuda/result.h"
#include "device/compile/compiler_identity.h"
#include "device/compile/testing/code_test_base.h"

namespace tutti::device {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr uint32_t kBlock[3] = {32, 1, 1};

class CodeStoreTest : public CodeTestBase {
 protected:
  static std::span<const uint8_t> Image(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  }
  // Kernel number `kernel` of an image that names its kernels.
  static inline const Cancelled never_{false};
  static Result<std::shared_ptr<const LoadedKernel>> Get(CodeSource& store, const std::string& image,
                                                         uint32_t kernel = 0) {
    TUTTI_ASSIGN(const auto index, store.Index(Image(image), never_));
    return store.Kernel(Image(image), *index, kernel, kBlock, never_);
  }
  static uint32_t RunIt(const LoadedKernel& kernel) {
    guest::WarpState warp{};
    kernel.descriptor->run(&warp, 1);
    return warp.lanes;
  }
};

TEST_F(CodeStoreTest, AKernelIsCompiledLoadedAndRuns) {
  const auto store = CreateCodeStore(settings_, Host());
  const auto index = store->Index(Image("good other"), never_);
  ASSERT_TRUE(index) << index.error().text;
  EXPECT_EQ((*index)->kernels.at(1).name, "other");
  const auto kernel = store->Kernel(Image("good other"), **index, 0, kBlock, never_);
  ASSERT_TRUE(kernel) << kernel.error().text;
  EXPECT_STREQ((*kernel)->descriptor->name, "good");
  EXPECT_EQ(RunIt(**kernel), 42u);
}

TEST_F(CodeStoreTest, TheSameKernelIsTheSameObject) {
  const auto store = CreateCodeStore(settings_, Host());
  const auto first = Get(*store, "good");
  const auto second = Get(*store, "good");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->get(), second->get());
  EXPECT_EQ(CountOf("good"), 1);
  EXPECT_EQ(CountOf("index"), 1);
}

TEST_F(CodeStoreTest, AWarmCacheNeedsNoCompiler) {
  ASSERT_TRUE(Get(*CreateCodeStore(settings_, Host()), "good"));
  const auto kernel = Get(*CreateCodeStore(settings_, Host()), "good");
  ASSERT_TRUE(kernel) << kernel.error().text;
  EXPECT_EQ(RunIt(**kernel), 42u);
  EXPECT_EQ(Requests().size(), 2u);
}

// So that it does not begin again each time its program is started and killed.
TEST_F(CodeStoreTest, ALongCompilationIsForTheCacheWhenItsClientIsKilled) {
  settings_.finish_after_ns = 0;
  const auto store = CreateCodeStore(settings_, Host());
  const auto index = store->Index(Image("good"), never_);
  ASSERT_TRUE(index) << index.error().text;
  const fs::path hold = folder_ / "log.hold";
  std::ofstream(hold).put(' ');
  Cancelled killed{false};
  std::thread killer([&] {
    while (CountOf("good") == 0) std::this_thread::yield();
    killed = true;
  });
  const auto nothing = store->Kernel(Image("good"), **index, 0, kBlock, killed);
  killer.join();
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, cuda::CUDA_ERROR_MPS_CLIENT_TERMINATED);
  fs::remove(hold);
  const auto kernel = Get(*store, "good");
  ASSERT_TRUE(kernel) << kernel.error().text;
  EXPECT_EQ(RunIt(**kernel), 42u);
  EXPECT_EQ(CountOf("good"), 1) << "it was compiled again";
}

TEST_F(CodeStoreTest, ADamagedCacheIsCompiledAgain) {
  ASSERT_TRUE(Get(*CreateCodeStore(settings_, Host()), "good"));
  for (const auto& entry : fs::directory_iterator(settings_.cache_folder)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20);
    file.write("damage", 6);
  }
  const auto kernel = Get(*CreateCodeStore(settings_, Host()), "good");
  ASSERT_TRUE(kernel) << kernel.error().text;
  EXPECT_EQ(CountOf("good"), 2);
  EXPECT_EQ(CountOf("index"), 2);
}

TEST_F(CodeStoreTest, ACompilerOfAnotherAgeMakesOtherEntries) {
  const fs::path compiler = folder_ / "compiler";
  fs::copy_file(settings_.compiler, compiler);
  settings_.compiler = compiler.string();
  ASSERT_TRUE(Get(*CreateCodeStore(settings_, Host()), "good"));
  fs::last_write_time(compiler, fs::file_time_type::clock::now() - std::chrono::hours(1));
  ASSERT_TRUE(Get(*CreateCodeStore(settings_, Host()), "good"));
  EXPECT_EQ(CountOf("good"), 2);
}

TEST_F(CodeStoreTest, AProcessorThatTheCompilerIsToldOfHasOtherEntries) {
  const CacheKey own = CompilerIdentity(settings_.compiler);
  setenv("TUTTI_CPU", "haswell", 1);
  const CacheKey told = CompilerIdentity(settings_.compiler);
  unsetenv("TUTTI_CPU");
  EXPECT_NE(told, own);
  EXPECT_EQ(CompilerIdentity(settings_.compiler), own);
}

TEST_F(CodeStoreTest, WithoutACacheCodeComesFromMemory) {
  settings_.cache_folder = "";
  const auto kernel = Get(*CreateCodeStore(settings_, Host()), "good");
  ASSERT_TRUE(kernel) << kernel.error().text;
  EXPECT_EQ(RunIt(**kernel), 42u);
}

TEST_F(CodeStoreTest, ACacheThatVanishesIsDoneWithout) {
  const auto store = CreateCodeStore(settings_, Host());
  ASSERT_TRUE(store->Index(Image("good"), never_));
  fs::remove_all(settings_.cache_folder);
  const auto kernel = Get(*store, "good");
  ASSERT_TRUE(kernel) << kernel.error().text;
  EXPECT_EQ(RunIt(**kernel), 42u);
}

TEST_F(CodeStoreTest, TwoKernelsWithoutACacheAreTwo) {
  settings_.cache_folder = "";
  const auto store = CreateCodeStore(settings_, Host());
  const auto first = Get(*store, "good");
  const auto second = Get(*store, "second");
  ASSERT_TRUE(first && second);
  EXPECT_STREQ((*first)->descriptor->name, "good");
  EXPECT_STREQ((*second)->descriptor->name, "second");
}

TEST_F(CodeStoreTest, ThreadsThatWantTheSameWaitForOneCompilation) {
  const auto store = CreateCodeStore(settings_, Host());
  constexpr int kThreads = 8;
  std::barrier start(kThreads);
  std::vector<std::shared_ptr<const LoadedKernel>> kernels(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      auto kernel = Get(*store, "good");
      if (kernel) kernels[static_cast<size_t>(i)] = *kernel;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CountOf("good"), 1);
  for (const auto& kernel : kernels) EXPECT_EQ(kernel, kernels[0]);
  EXPECT_NE(kernels[0], nullptr);
}

TEST_F(CodeStoreTest, ARefusalIsRememberedWithItsLog) {
  const auto store = CreateCodeStore(settings_, Host());
  for (int i = 0; i < 3; ++i) {
    const auto kernel = Get(*store, "refuse");
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, cuda::CUDA_ERROR_INVALID_PTX);
    EXPECT_THAT(kernel.error().text, HasSubstr("line 1, column 1"));
  }
  EXPECT_EQ(CountOf("refuse"), 1);
  const auto index = store->Index(Image("index fails"), never_);
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, cuda::CUDA_ERROR_INVALID_PTX);
}

TEST_F(CodeStoreTest, ACrashIsTriedAgainTheNextTime) {
  const auto store = CreateCodeStore(settings_, Host());
  EXPECT_FALSE(Get(*store, "crash"));
  const long before = CountOf("crash");
  EXPECT_FALSE(Get(*store, "crash"));
  EXPECT_EQ(CountOf("crash"), before + 1);
}

TEST_F(CodeStoreTest, ObjectsThatAreNotKernelsAreRefused) {
  const auto store = CreateCodeStore(settings_, Host());
  for (const char* kernel : {"garbage", "half", "wrong_magic", "escape", "misnamed"}) {
    const auto loaded = Get(*store, kernel);
    ASSERT_FALSE(loaded) << kernel;
    EXPECT_THAT(loaded.error().text, HasSubstr("compiled kernel")) << kernel;
  }
}

TEST_F(CodeStoreTest, AKernelNumberBeyondTheIndexIsRefused) {
  EXPECT_FALSE(Get(*CreateCodeStore(settings_, Host()), "good", 1));
}

TEST_F(CodeStoreTest, AnIndexMayOutliveItsStore) {
  std::shared_ptr<const module::ModuleIndex> index;
  {
    const auto store = CreateCodeStore(settings_, Host());
    index = *store->Index(Image("good"), never_);
  }
  EXPECT_EQ(index->kernels.at(0).name, "good");
}

}  // namespace
}  // namespace tutti::device
