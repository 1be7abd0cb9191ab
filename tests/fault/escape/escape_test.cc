// The escape suite: hostile programs, one after the other, each trying one way to read, write, stall or crash what is
// not its own. Each must get its error, and the victim beside it must notice nothing: no error, no wrong bit, no stall.
//
//   escape_test PROGRAMS      the folder of the kernels; CUDA_MPS_PIPE_DIRECTORY and CUDA_MPS_LOG_DIRECTORY of a
//                             running daemon
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "../../compat/driver_api.h"
#include "attacker.h"
#include "event_attacks.h"
#include "raw_attack.h"
#include "stage.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;
constexpr auto kLimit = 120s;

// A forked process and the page it shares with us.
class AttackProcess {
 public:
  explicit AttackProcess(const std::function<void(AttackPage&)>& attack) {
    void* const page = mmap(nullptr, sizeof(AttackPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    page_ = new (page) AttackPage;
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    attack(*page_);
    _exit(0);
  }
  ~AttackProcess() {
    Kill();
    munmap(page_, sizeof(AttackPage));
  }

  AttackPage& page() { return *page_; }
  pid_t pid() const { return pid_; }
  bool HasEnded() {
    if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    return ended_;
  }
  // False if it has not ended within the limit.
  bool Await() {
    for (const auto end = std::chrono::steady_clock::now() + kLimit; !HasEnded(); std::this_thread::sleep_for(1ms)) {
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }
  void Kill() {
    if (ended_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
    ended_ = true;
  }

 private:
  AttackPage* page_;
  pid_t pid_;
  bool ended_ = false;
  int status_ = 0;
};

std::string NameOf(int32_t error) {
  const char* name = "no outcome";
  cuda::cuGetErrorName(static_cast<cuda::CUresult>(error), &name);
  return name;
}

// Each program is in a context of its own then, in which the addresses of the victim are its own or nobody's, and the
// driver does not say where a kernel has failed.
bool ThroughExecutors() {
  const char* const device = std::getenv("TUTTI_DEVICE");
  return device != nullptr && std::strcmp(device, "cuda") == 0;
}

// All programs are in one context then, with kernels that check their addresses.
bool InOneContext() {
  const char* const isolation = std::getenv("TUTTI_ISOLATION");
  return ThroughExecutors() && isolation != nullptr && std::strcmp(isolation, "shared") == 0;
}

// What cannot be fenced is not launched there.
bool IsRefused(const AttackPage& page) {
  return InOneContext() && page.outcome.load() == cuda::CUDA_ERROR_NOT_SUPPORTED;
}

class Escape : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_TRUE(Stage::Get().VictimGoesOn(2)) << "the victim has stopped";
    EXPECT_EQ(Stage::Get().Complaint(), "");
    EXPECT_TRUE(Stage::Get().OnlyTheVictimIsLeft()) << "the server has kept something of the attacker";
  }
};

// An attack by a kernel.
class ProgramEscape : public Escape {
 public:
  explicit ProgramEscape(std::string path) : path_(std::move(path)) {}
  void TestBody() override {
    const Program program = ReadProgram(path_);
    if (program.loses_shared_context && InOneContext())
      GTEST_SKIP()
          << "no fence keeps it from losing the context for all: what is promised elsewhere is not promised here";
    if (program.endless) return RunEndless();
    AttackProcess attacker([this](AttackPage& page) { RunProgram(path_, page); });
    AttackPage& page = attacker.page();
    ASSERT_TRUE(attacker.Await()) << "has not ended";
    EXPECT_STREQ(page.note, "");
    if (!ThroughExecutors()) {
      EXPECT_EQ(NameOf(page.outcome.load()), program.test.error);
    }
    EXPECT_FALSE(page.leaked.load()) << "has seen the victim's secret";
    // Damage to its context stays; a program that could not be loaded has done none.
    if (!page.launched.load()) return;
    EXPECT_EQ(page.again.load(), page.outcome.load()) << "the error is not sticky";
    if (page.outcome.load() != 0) {
      EXPECT_TRUE(Stage::Get().LogNames(attacker.pid(), std::to_string(page.outcome.load())))
          << "the server's log does not say who failed";
      EXPECT_TRUE(program.where.empty() || ThroughExecutors() || Stage::Get().LogNames(attacker.pid(), program.where))
          << "the server's log does not say: " << program.where;
    }
  }

 private:
  void RunEndless() {
    AttackProcess attacker([this](AttackPage& page) { RunProgram(path_, page); });
    AttackPage& page = attacker.page();
    for (int i = 0; i < 6000 && !page.launched.load() && !attacker.HasEnded(); ++i) std::this_thread::sleep_for(10ms);
    if (attacker.HasEnded() && IsRefused(page)) return;
    ASSERT_TRUE(page.launched.load()) << "ended with " << NameOf(page.outcome.load()) << " " << page.note;
    EXPECT_TRUE(Stage::Get().VictimGoesOn(5)) << "the victim waits for an endless kernel";
    EXPECT_FALSE(attacker.HasEnded()) << "ended with " << NameOf(page.outcome.load());
    attacker.Kill();
  }

  const std::string path_;
};

// Else none of the attacks is one on a neighbour in the same context.
class OneContext : public Escape {
 public:
  void TestBody() override {
    AttackProcess beside([](AttackPage& page) {
      cuda::CUcontext context;
      cuda::CUdeviceptr memory = 0;
      if (cuda::cuInit(0) == 0 && cuda::cuDevicePrimaryCtxRetain(&context, 0) == 0 &&
          cuda::cuCtxSetCurrent(context) == 0 && cuda::cuMemAlloc_v2(&memory, 64) == 0)
        page.launched.store(true);
      pause();
    });
    for (int i = 0; i < 6000 && !beside.page().launched.load(); ++i) std::this_thread::sleep_for(10ms);
    ASSERT_TRUE(beside.page().launched.load());
    EXPECT_EQ(Stage::Get().MostPlaces(), 2u) << "the victim and a program beside it have contexts of their own";
    beside.Kill();
  }
};

// An attack with hand-written records and messages.
class RawEscape : public Escape {
 public:
  explicit RawEscape(const RawAttack& attack) : attack_(attack) {}
  void TestBody() override {
    AttackProcess attacker([this](AttackPage& page) {
      const wire::Hello hello{.claimed_pid = static_cast<uint32_t>(getpid()), .command_line = attack_.name};
      auto connection = ipc::ClientConnection::Connect(Stage::Get().pipe_directory(), hello, 60'000);
      if (!connection) {
        fmt::format_to_n(page.note, sizeof page.note - 1, "{}", connection.error().text);
        return;
      }
      Attacker attacker(std::move(*connection), Stage::Get().targets());
      attack_.attack(attacker);
      page.outcome.store(static_cast<int32_t>(attacker.Outcome(attack_.end)));
      _exit(0);  // whatever state the connection is in
    });
    ASSERT_TRUE(attacker.Await()) << "has not ended";
    EXPECT_STREQ(attacker.page().note, "");
    const int32_t outcome = attacker.page().outcome.load();
    const bool is_no_record_there = ThroughExecutors() && (outcome == 0 || outcome == 1);  // as of arrays
    EXPECT_TRUE(is_no_record_there || outcome == static_cast<int32_t>(attack_.end))
        << outcome << " in place of " << static_cast<int32_t>(attack_.end)
        << ": 0 session ended, 1 fault, 2 refused, 3 nothing";
  }

 private:
  const RawAttack& attack_;
};

// An attack on an event that another process has made.
class EventEscape : public Escape {
 public:
  explicit EventEscape(const EventAttack& attack) : attack_(attack) {}
  void TestBody() override {
    void* const page =
        mmap(nullptr, sizeof(SharedWithAttacker), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto& shared = *new (page) SharedWithAttacker;
    AttackProcess maker([&](AttackPage& own) { MakeEvents(attack_, own, shared); });
    for (int i = 0; i < 6000 && !maker.page().launched.load() && !maker.HasEnded(); ++i)
      std::this_thread::sleep_for(10ms);
    ASSERT_TRUE(maker.page().launched.load()) << maker.page().note;
    AttackProcess attacker([&](AttackPage& own) { AttackEvents(attack_, own, shared); });
    for (const auto end = std::chrono::steady_clock::now() + kLimit; !attacker.HasEnded();
         std::this_thread::sleep_for(1ms)) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the attacker waits for ever";
      if (shared.maker_is_to_end.load() && maker.HasEnded()) shared.maker_has_ended.store(true);
    }
    EXPECT_STREQ(attacker.page().note, "");
    shared.maker_is_to_end.store(true);
    shared.maker_is_to_wait.store(true);
    EXPECT_TRUE(maker.Await()) << "who has made the event waits for ever";
    EXPECT_STREQ(maker.page().note, "");
    munmap(page, sizeof(SharedWithAttacker));
  }

 private:
  const EventAttack& attack_;
};

void Register(const std::filesystem::path& programs) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(programs)) {
    if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  if (InOneContext())
    testing::RegisterTest("Stage", "IsOneContext", nullptr, nullptr, __FILE__, __LINE__,
                          []() -> Escape* { return new OneContext; });
  for (const auto& path : paths) {
    testing::RegisterTest("Kernel", path.stem().c_str(), nullptr, nullptr, path.c_str(), 1,
                          [path]() -> Escape* { return new ProgramEscape(path); });
  }
  const std::pair<const char*, std::span<const RawAttack>> suites[] = {{"Records", RecordAttacks()},
                                                                       {"Arrays", ArrayAttacks()},
                                                                       {"Graphs", GraphAttacks()},
                                                                       {"Memory", MemoryAttacks()},
                                                                       {"Socket", SocketAttacks()}};
  for (const auto& [suite, attacks] : suites) {
    for (const RawAttack& attack : attacks) {
      testing::RegisterTest(suite, attack.name, nullptr, nullptr, __FILE__, __LINE__,
                            [&attack]() -> Escape* { return new RawEscape(attack); });
    }
  }
  for (const EventAttack& attack : EventAttacks()) {
    testing::RegisterTest("Events", attack.name, nullptr, nullptr, __FILE__, __LINE__,
                          [&attack]() -> Escape* { return new EventEscape(attack); });
  }
}

}  // namespace
}  // namespace tutti::fault

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    fmt::print(stderr, "usage: {} PROGRAMS\n", argv[0]);
    return 3;
  }
  tutti::fault::Register(argv[1]);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  tutti::fault::Stage::Set();
  const int result = RUN_ALL_TESTS();
  return tutti::fault::Stage::Clear() ? result : 1;
}
