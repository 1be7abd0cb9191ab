#include "control/client_table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti::control {
namespace {

TEST(ClientTable, PadsColumnsAsPsDoes) {
  EXPECT_EQ(FormatClientTable({{9741, 0, 6472, "GPU-cb1213a3-d6a4-be7f", 4026531836, "./nbody"}}),
            "PID       ID        SERVER         DEVICE                 NAMESPACE      COMMAND        \n"
            "9741      0         6472           GPU-cb1213a3-d6a4-be7f 4026531836     ./nbody        \n");
}

TEST(ClientTable, ACommandLineCannotForgeARow) {
  const std::string table = FormatClientTable({{1, 0, 2, "GPU-0", 3, "a\n9 9 9 GPU-0 9 forged"}});
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2);
}

TEST(ClientTable, AUuidIsGroupedAndShortenedToThreeGroups) {
  const uint8_t uuid[16] = {0xcb, 0x12, 0x13, 0xa3, 0xd6, 0xa4, 0xbe, 0x7f, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(FormatUuid(uuid), "GPU-cb1213a3-d6a4-be7f-0102-030405060708");
  EXPECT_EQ(ShortUuid(FormatUuid(uuid)), "GPU-cb1213a3-d6a4-be7f");
}

}  // namespace
}  // namespace tutti::control
