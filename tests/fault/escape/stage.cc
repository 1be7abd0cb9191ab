#include "stage.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "../holdings.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Stage> stage;

[[noreturn]] void GiveUp(const std::string& what) {
  fmt::print(stderr, "the stage cannot be set: {}\n", what);
  std::exit(3);
}

template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 6000 && !condition(); ++i) std::this_thread::sleep_for(10ms);
  return condition();
}

struct Map {
  uint64_t begin, end;
  std::string rights, inode, name;
};

std::vector<Map> MapsOf(pid_t pid) {
  std::vector<Map> maps;
  std::ifstream file(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(file, line);) {
    Map map{};
    char rights[8] = "", inode[24] = "";
    int name = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %*s %*s %23s %n", &map.begin, &map.end, rights, inode, &name) != 4)
      continue;
    map.rights = rights;
    map.inode = inode;
    map.name = name > 0 ? line.substr(static_cast<size_t>(name)) : "";
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace

void Stage::Set() { stage.reset(new Stage); }
Stage& Stage::Get() { return *stage; }

Stage::Stage() {
  const char* const directory = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  if (directory == nullptr) GiveUp("CUDA_MPS_PIPE_DIRECTORY does not name a daemon: run it by tests/fault/with_daemon");
  directory_ = directory;
  void* const page = mmap(nullptr, sizeof(VictimPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) GiveUp("mmap");
  page_ = new (page) VictimPage;
  victim_ = fork();
  if (victim_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    BeTheVictim(*page_);
  }
  if (!Eventually([&] { return page_->rounds.load() >= 2 || page_->failed.load(); }) || page_->failed.load()) {
    GiveUp(fmt::format("the victim: {}", page_->failure));
  }
  FindTargets();
}

void Stage::FindTargets() {
  server_ = page_->server.load();
  for (const Map& map : MapsOf(server_)) {
    if (map.name == "[heap]") targets_.heap = map.begin + 4096;
    if (map.name == "[stack]") targets_.stack = map.end - 4096;
    if (targets_.text == 0 && map.rights.starts_with("r-x") && map.name.find("tutti-server") != std::string::npos)
      targets_.text = map.begin + 64;
    if (map.name.starts_with("/memfd:tutti-channel")) targets_.channel = map.begin + 4096;
    if (targets_.heap == 0 && map.name.empty() && map.rights.starts_with("rw")) targets_.heap = map.begin;
  }
  targets_.victim = page_->secret.load();
  if (targets_.heap == 0 || targets_.stack == 0 || targets_.text == 0 || targets_.channel == 0)
    GiveUp("the server's memory is not to be found");
}

std::string Stage::Complaint() const {
  if (page_->failed.load()) return fmt::format("the victim: {}", page_->failure);
  if (waitpid(victim_, nullptr, WNOHANG) != 0) return "the victim has died";
  if (kill(server_, 0) != 0) return "the server has died";
  return {};
}

bool Stage::VictimGoesOn(int count) const {
  const uint64_t goal = page_->rounds.load() + static_cast<uint64_t>(count);
  return Eventually([&] { return page_->rounds.load() >= goal || page_->failed.load(); }) && !page_->failed.load();
}

bool Stage::OnlyTheVictimIsLeft() const {
  return Eventually([&] { return WindowsOf(server_) == 1; });
}

// Each place is a memory file that both have mapped (src/executor/protocol/exchange.h).
size_t Stage::MostPlaces() const {
  std::set<std::string> of_server;  // inodes
  for (const Map& map : MapsOf(server_)) {
    if (map.name.starts_with("/memfd:tutti-exchange")) of_server.insert(map.inode);
  }
  size_t most = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    std::string name;
    if (pid <= 0 || pid == server_ || !std::getline(std::ifstream(entry.path() / "comm"), name)) continue;
    if (!name.starts_with("tutti-executor")) continue;
    std::set<std::string> places;
    for (const Map& map : MapsOf(pid)) {
      if (of_server.contains(map.inode)) places.insert(map.inode);
    }
    most = std::max(most, places.size());
  }
  return most;
}

bool Stage::LogNames(pid_t pid, const std::string& text) const {
  const auto found = [&] {
    std::ifstream log(std::string(std::getenv("CUDA_MPS_LOG_DIRECTORY")) + "/server.log");
    for (std::string line; std::getline(log, line);) {
      if (line.find(std::to_string(pid)) != std::string::npos && line.find(text) != std::string::npos) return true;
    }
    return false;
  };
  return Eventually(found);
}

bool Stage::Clear() {
  const std::string complaint = stage->Complaint();
  if (!complaint.empty()) fmt::print(stderr, "{}\n", complaint);
  stage->page_->stop.store(true);
  int status = 0;
  waitpid(stage->victim_, &status, 0);
  const bool well = complaint.empty() && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return well;
}

}  // namespace tutti::fault
