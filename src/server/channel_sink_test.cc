#include "server/channel_sink.h"

#include <gtest/gtest.h>

#include <memory>

#include "cuda/result.h"

namespace tutti::server {
namespace {

// What a client finds in its slot.
wire::ReplySlot& ReplyOf(const Result<uint64_t>& result) {
  static const auto channel = std::make_unique<wire::Channel>();
  static const auto completions = std::make_unique<wire::Completions>();
  ChannelSink(channel.get(), completions.get(), {}).ReplyWith(0, result);
  return channel->replies[0];
}

TEST(ChannelSink, RepliesWithAValueOrWhyThereIsNone) {
  EXPECT_EQ(ReplyOf(0x1000).status, 0);
  EXPECT_EQ(ReplyOf(0x1000).value[0], 0x1000u);
  EXPECT_EQ(ReplyOf(Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "full")).status, cuda::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(ReplyOf(Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "full")).value[0], 0u);
}

TEST(ChannelSink, AFailureOfTheSystemIsNoSuccess) {
  EXPECT_EQ(ReplyOf(Fail("mmap: Cannot allocate memory")).status, cuda::CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace tutti::server
