// For tests: a private folder, settings that use the fake compiler, and the log of what it was asked.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "device/compile/code_settings.h"
#include "device/compile/compiler_host.h"

namespace tutti::device {

class CodeTestBase : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "code-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    setenv("TUTTI_TEST_LOG", (folder_ / "log").c_str(), 1);
    setenv("TUTTI_TEST_KERNELS", TUTTI_TEST_KERNELS, 1);
    settings_.cache_folder = (folder_ / "cache").string();
    settings_.compiler = TUTTI_FAKE_COMPILER;
    settings_.max_compilers = 2;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // One for these settings and this environment.
  std::shared_ptr<CompilerHost> Host() const {
    auto host = CompilerHost::Start(settings_);
    EXPECT_TRUE(host) << host.error().text;
    return host ? *host : nullptr;
  }

  struct Request {
    int pid;
    std::string what;
  };
  std::vector<Request> Requests() const {
    std::vector<Request> requests;
    std::ifstream log(folder_ / "log");
    for (Request request; log >> request.pid >> request.what;) requests.push_back(request);
    return requests;
  }
  long CountOf(const std::string& what) const {
    const auto requests = Requests();
    return std::count_if(requests.begin(), requests.end(),
                         [&](const Request& request) { return request.what == what; });
  }
  size_t Processes() const {
    std::set<int> pids;
    for (const Request& request : Requests()) pids.insert(request.pid);
    return pids.size();
  }

  std::filesystem::path folder_;
  CodeSettings settings_;
};

}  // namespace tutti::device
