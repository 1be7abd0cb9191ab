#include "client/process/proc_address.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "client/process/exports.h"

namespace tutti::client {
namespace {

TEST(Exports, EveryAbiIsThereOnce) {
  std::set<std::string> symbols;
  std::set<std::tuple<std::string, int, bool>> abis;
  for (const Export& row : Exports()) {
    EXPECT_TRUE(symbols.insert(row.symbol).second) << row.symbol;
    EXPECT_TRUE(abis.insert({row.name, row.version, row.per_thread}).second) << row.symbol;
    EXPECT_NE(row.function, nullptr);
  }
}

TEST(Exports, NoneIsNewerThanTheDriver) {
  for (const Export& row : Exports()) EXPECT_LE(row.version, cuda::kDriverVersion) << row.symbol;
}

TEST(FindFunction, EachRowIsFoundAtItsOwnVersion) {
  for (const Export& row : Exports()) {
    const uint64_t flags = row.per_thread ? uint64_t{cuda::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM} : 0;
    EXPECT_EQ(FindFunction(row.name, row.version, flags).function, row.function) << row.symbol;
  }
}

}  // namespace
}  // namespace tutti::client
