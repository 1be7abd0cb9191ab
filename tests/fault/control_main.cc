#include "control_main.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tutti::fault {

std::string control;

}  // namespace tutti::fault

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return fmt::print(stderr, "usage: {} CONTROL\n", argv[0]), 3;
  tutti::fault::control = argv[1];
  return RUN_ALL_TESTS();
}
