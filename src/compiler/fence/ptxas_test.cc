// A real assembler accepts the fence's output for every PTX text in the tree that it accepts unfenced. Skipped without
// a CUDA toolkit.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <regex>
#include <thread>

#include "compiler/fence/fence.h"
#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

namespace fs = std::filesystem;

std::string Ptxas() {
  for (const char* const program : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"}) {
    if (fs::exists(program)) return program;
  }
  return std::system("command -v ptxas > /dev/null") == 0 ? "ptxas" : "";
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Of golden files the part before the expected outcome; addresses that only a running attack knows are any number.
std::string TextOf(const fs::path& path) {
  static const std::regex kAddresses("\\$(victim|channel|heap|stack|text|window_begin|window_end)\\b");
  std::string text = ReadFile(path);
  text.resize(std::min(text.size(), text.find("\n==== ")));
  return std::regex_replace(text, kAddresses, "4096");
}

// Texts for architectures that the assembler has dropped are assembled for the oldest one it supports.
std::string TargetOf(const std::string& text) {
  static const std::regex kTarget("\\.target\\s+(sm_(\\d+)[af]?)");
  std::smatch found;
  if (!std::regex_search(text, found, kTarget)) return "sm_80";
  return std::stoi(found[2]) < 80 ? "sm_80" : found[1].str();
}

class Assembler {
 public:
  Assembler() {
    std::string pattern = (fs::temp_directory_path() / "ptxas-test-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Assembler() { fs::remove_all(folder_); }

  // The assembler's errors; empty if it accepts the text. Thread-safe.
  std::string Refusal(const std::string& text, const std::string& target) {
    const std::string input = folder_ / fmt::format("{}.ptx", next_++);
    std::ofstream(input) << text;
    const std::string command =
        fmt::format("{} -arch={} -o /dev/null '{}' > '{}.log' 2>&1", program_, target, input, input);
    const int status = std::system(command.c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : ReadFile(input + ".log") + " ";
  }

 private:
  const std::string program_ = Ptxas();
  fs::path folder_;
  std::atomic<int> next_{0};
};

std::vector<fs::path> AllTexts() {
  std::vector<fs::path> paths;
  for (const char* const folder : {"examples", "bench", "tests", "src"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TUTTI_SOURCE_DIR) / folder)) {
      if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
    }
  }
  return paths;
}

TEST(FencedPtx, IsTakenByAnAssembler) {
  if (Ptxas().empty()) GTEST_SKIP() << "there is no ptxas";
  Assembler assembler;
  const std::vector<fs::path> paths = AllTexts();
  std::atomic<size_t> next{0};
  std::mutex mutex;
  size_t taken = 0, refused_before = 0, not_ptx = 0;
  const auto work = [&] {
    for (size_t i = 0; (i = next++) < paths.size();) {
      const std::string text = TextOf(paths[i]), target = TargetOf(text);
      auto module = ptx::Parse(text);
      const bool whole = module && ptx::FunctionErrors(*module).empty();
      // In a shared context the fence prints, and calls by address, in ways of its own.
      const bool shared = text.contains("vprintf") || text.contains("__assertfail") || text.contains(".callprototype");
      const auto fenced = whole ? FencePtx(std::move(*module), shared ? kSharedContext : FenceOptions{})
                                : Result<FencedModule>(Fail("not PTX"));
      const std::string refusal = fenced ? assembler.Refusal(fenced->ptx, target) : "";
      const bool was_refused = !refusal.empty() && !assembler.Refusal(text, target).empty();
      const std::lock_guard lock(mutex);
      ++(!fenced ? not_ptx : was_refused ? refused_before : taken);
      if (!fenced) continue;
      EXPECT_TRUE(refusal.empty() || was_refused) << paths[i] << ": " << refusal;
      EXPECT_FALSE(std::regex_search(fenced->ptx, std::regex("\\btrap;")))
          << paths[i] << " could end everybody's context";
    }
  };
  std::thread beside(work);
  work();
  beside.join();
  fmt::print("{} texts are taken; {} are not, nor were they as written; {} are not to be fenced\n", taken,
             refused_before, not_ptx);
  EXPECT_GT(taken, 150u);
  EXPECT_LT(refused_before, taken / 8);
}

}  // namespace
}  // namespace tutti::compiler
