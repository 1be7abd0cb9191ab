// The conformance suite: what every backend must do. Each backend links it into a test program of its own and defines
// BackendUnderTest there, with two lists of tests to skip: `never`, by its nature, and `not_yet`. Each entry names a
// test and says why; a listed test that would pass is not noticed, so keep the lists short.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "device/cts/client.h"
#include "device/device.h"

namespace tutti::device::cts {

struct BackendCase {
  std::function<std::unique_ptr<Backend>()> create;
  std::map<std::string, std::string> never;
  std::map<std::string, std::string> not_yet;
};

// Defined by the program.
const BackendCase& BackendUnderTest();

// One test: a fresh backend, skipped if listed.
class Conformance : public testing::Test {
 protected:
  void SetUp() override;
  std::unique_ptr<Backend> backend_;
};

}  // namespace tutti::device::cts
