// The log of the program's mistakes.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

class LogsTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuLogsCurrent(&since_, 0));
  }
  // A mistake that is explained with this address.
  static void Err(CUdeviceptr address) { EXPECT_EQ(cuMemsetD8_v2(address, 0, 1), CUDA_ERROR_INVALID_VALUE); }
  // What was said from `*from` on, at most `room` bytes with the zero behind.
  static std::string Dump(CUlogIterator* from, size_t room = 25'600) {
    std::vector<char> buffer(room, 'x');
    size_t size = room;
    CU_EXPECT(cuLogsDumpToMemory(from, buffer.data(), &size, 0));
    EXPECT_EQ(buffer[size], '\0');
    return {buffer.data(), size};
  }
  static size_t LinesOf(const std::string& text) { return static_cast<size_t>(std::ranges::count(text, '\n')); }

  CUlogIterator since_ = 0;
};

TEST_F(LogsTest, AMistakeIsExplainedOnce) {
  EXPECT_EQ(Dump(&since_), "");
  Err(0x10);
  const std::string said = Dump(&since_);
  EXPECT_EQ(LinesOf(said), 1u) << said;
  EXPECT_NE(said.find("[CUDA][E] CUDA_ERROR_INVALID_VALUE: "), std::string::npos) << said;
  EXPECT_NE(said.find("0x10"), std::string::npos) << said;
  EXPECT_EQ(Dump(&since_), "");
  EXPECT_TRUE(Dump(nullptr).ends_with(said)) << "all of them";
}

TEST_F(LogsTest, TheNewestLinesFitAndItIsSaidThatOthersDoNot) {
  for (const CUdeviceptr address : {0x11, 0x22, 0x33}) Err(address);
  CUlogIterator from = since_;
  const std::string all = Dump(&from);
  from = since_;
  const std::string some = Dump(&from, all.size() * 9 / 10);
  EXPECT_NE(some.find("left out"), std::string::npos) << some;
  EXPECT_EQ(some.find("0x11"), std::string::npos) << some;
  EXPECT_NE(some.find("0x33"), std::string::npos) << some;
  EXPECT_EQ(Dump(&from), "") << "the iterator is behind the newest";
  char tiny[8];
  size_t size = sizeof tiny;
  EXPECT_EQ(cuLogsDumpToMemory(&since_, tiny, &size, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(size, 0u);
}

TEST_F(LogsTest, OldLinesGive25600BytesToNewOnes) {
  for (int i = 0; i < 1000; ++i) Err(0x100 + static_cast<CUdeviceptr>(i));
  const std::string said = Dump(&since_, 100'000);
  EXPECT_LE(said.size(), 26'000u);
  EXPECT_GT(said.size(), 20'000u);
  EXPECT_NE(said.find("left out"), std::string::npos);
  EXPECT_NE(said.find(" 0x4e7,"), std::string::npos) << said.substr(said.size() - 200);
}

TEST_F(LogsTest, ACallbackIsToldUntilItIsRemoved) {
  std::vector<std::string> told;
  const CUlogsCallback callback = [](void* data, int level, char* message, size_t length) {
    EXPECT_EQ(level, 0);
    static_cast<std::vector<std::string>*>(data)->emplace_back(message, length);
  };
  CUlogsCallbackHandle handle = nullptr;
  CU_ASSERT(cuLogsRegisterCallback(callback, &told, &handle));
  Err(0x10);
  EXPECT_EQ(told.size(), 1u);
  CU_EXPECT(cuLogsUnregisterCallback(handle));
  Err(0x10);
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(cuLogsUnregisterCallback(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogsRegisterCallback(nullptr, nullptr, &handle), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LogsTest, AFileHasTheSameLines) {
  Err(0x10);
  const std::string path = ::testing::TempDir() + "/tutti-logs-" + std::to_string(getpid());
  CUlogIterator from = since_;
  CU_EXPECT(cuLogsDumpToFile(&from, path.c_str(), 0));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), Dump(&since_));
  EXPECT_EQ(from, since_);
  std::remove(path.c_str());
  EXPECT_EQ(cuLogsDumpToFile(nullptr, "/nonexistent/directory/file", 0), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace tutti::compat
