// The driver of these tests holds executors to the rules of the vendor's documentation (tests/gpu/vendor_strict): what
// breaks one is refused there, and fails the program of tests as it ends, whatever came of it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tutti::device::gpu {

class NoBreaches : public testing::Environment {
 public:
  // Before anything starts an executor, which has its environment from here.
  void SetUp() override { setenv("TUTTI_STRICT_LOG", log_.c_str(), 1); }
  void TearDown() override {
    std::ifstream file(log_);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "") << "what the vendor's driver would refuse";
    std::filesystem::remove(log_);
  }

 private:
  const std::string log_ = std::filesystem::temp_directory_path() / ("tutti-breaches-" + std::to_string(getpid()));
};

}  // namespace tutti::device::gpu
