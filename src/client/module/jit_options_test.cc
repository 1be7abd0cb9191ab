#include "client/module/jit_options.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace tutti::client {
namespace {

TEST(JitOptions, WritesTextsWhereTheCallerSaysAndHowLongTheyAre) {
  char info[8], error[8];
  cuda::CUjit_option options[] = {cuda::CU_JIT_INFO_LOG_BUFFER, cuda::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                                  cuda::CU_JIT_ERROR_LOG_BUFFER, cuda::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {info, reinterpret_cast<void*>(sizeof info), error, reinterpret_cast<void*>(sizeof error)};
  const JitOptions jit(4, options, values);
  jit.WriteInfo("all");
  jit.WriteError("too long a text");
  EXPECT_STREQ(info, "all");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values[1]), 3u);
  EXPECT_STREQ(error, "too lon");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values[3]), 7u);
}

TEST(JitOptions, WithoutABufferNothingIsWritten) {
  cuda::CUjit_option options[] = {cuda::CU_JIT_ERROR_LOG_BUFFER, cuda::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  char buffer[4] = "abc";
  void* no_buffer[] = {nullptr, reinterpret_cast<void*>(size_t{4})};
  JitOptions(2, options, no_buffer).WriteError("text");
  void* no_room[] = {buffer, nullptr};
  JitOptions(2, options, no_room).WriteError("text");
  EXPECT_STREQ(buffer, "abc");
  EXPECT_FALSE(JitOptions(2, nullptr, no_room).valid());
  EXPECT_TRUE(JitOptions(0, nullptr, nullptr).valid());
}

}  // namespace
}  // namespace tutti::client
