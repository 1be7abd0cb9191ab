#include "device/cts/conformance.h"

namespace tutti::device::cts {

void Conformance::SetUp() {
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  const BackendCase& backend = BackendUnderTest();
  if (const auto never = backend.never.find(name); never != backend.never.end())
    GTEST_SKIP() << "never: " << never->second;
  if (const auto later = backend.not_yet.find(name); later != backend.not_yet.end())
    GTEST_SKIP() << "not yet: " << later->second;
  backend_ = backend.create();
}

}  // namespace tutti::device::cts
