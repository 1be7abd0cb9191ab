#include "cli/fault_table.h"

#include <gtest/gtest.h>

namespace tutti::cli {
namespace {

TEST(FaultTable, AFaultIsReadAndShown) {
  const auto fault = ReadFault(
      R"({"server":3,"time_ns":1,"pid":7,"uid":4294967294,"status":700,"kernel":"k","block":[1,2,3],"thread":[4,5,6],"address":255,)"
      R"("source":{"file":"a.cu","line":9},"command":"/bin/p -x","report":"all"})");
  ASSERT_TRUE(fault) << fault.error().text;
  const std::string table = FaultTable({*fault});
  for (const char* part : {"CUDA_ERROR_ILLEGAL_ADDRESS", "1,2,3", "4,5,6", "0xff", "a.cu:9", "p -x", "\n  all\n"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part;
  }
}

TEST(FaultTable, WhatIsMissingIsNoFault) { EXPECT_TRUE(ReadFault("{}")); }

TEST(FaultTable, AFieldOfAnotherShapeIsNamedWithItsServer) {
  for (const char* field :
       {R"("pid":"x")", R"("pid":-1)", R"("uid":4294967296)", R"("status":1e30)", R"("status":99999999999)",
        R"("kernel":7)", R"("block":[1,2])", R"("thread":[1,2,"x"])", R"("block":{"a":1})", R"("address":-1)",
        R"("ptx_line":[])", R"("command":null)", R"("report":{})", R"("time_ns":"now")"}) {
    const auto fault = ReadFault(std::string("{\"server\":12,") + field + "}");
    ASSERT_FALSE(fault) << field;
    const std::string name = std::string(field).substr(0, std::string(field).find(':'));
    EXPECT_EQ(fault.error().text, "server 12 reports a fault with an invalid " + name);
  }
  EXPECT_FALSE(ReadFault("[1]"));
  EXPECT_FALSE(ReadFault("Unknown command"));
}

TEST(FaultTable, WhatAServerSaysDoesNotSpeakToTheTerminal) {
  const auto fault =
      ReadFault(R"({"server":1,"kernel":"k\u001b[2J\n","report":"\u009b1m","command":"\u001b]0;x\u0007"})");
  ASSERT_TRUE(fault);
  const std::string table = FaultTable({*fault});
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_EQ(table.find("\xc2\x9b"), std::string::npos);
}

}  // namespace
}  // namespace tutti::cli
