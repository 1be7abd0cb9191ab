// What fenced kernels write to a FIFO of prints that nobody reads meanwhile.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "compiler/fence/fence.h"
#include "compiler/testing/test_module.h"
#include "guest/gpu/fenced_ptx.h"
#include "guest/gpu/print_fifo.h"
#include "guest/print_format.h"
#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

// Each thread prints, and stores what it is told.
constexpr const char* kPrints = R"(.version 7.8
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.visible .entry k(.param .u64 format, .param .u64 arguments, .param .u64 results)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [format];
  ld.param.u64 %rd1, [arguments];
  ld.param.u64 %rd2, [results];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd3, %r0, 4;
  add.s64 %rd2, %rd2, %rd3;
  call (%r1), vprintf, (%rd0, %rd1);
  st.global.u32 [%rd2], %r1;
  ret;
}
)";
constexpr uint32_t kThreads = 64;

class FencedPrint : public testing::Test {
 protected:
  FencedPrint() {
    auto parsed = ptx::Parse(kPrints);
    const auto fenced = FencePtx(std::move(*parsed), kSharedContext);
    auto module = TestModule::Open(fenced->ptx, {.check_addresses = false, .target = HostTarget::Detect()});
    EXPECT_TRUE(module) << module.error().text;
    module_.emplace(std::move(*module));
    SetWords(AddressOf(fifo_.get()));
  }
  void SetWords(uint64_t fifo) {
    const guest::FenceWords words{.run_base = AddressOf(&window_),
                                  .run_bytes = sizeof window_,
                                  .fault = AddressOf(&fault_),
                                  .prints = fifo,
                                  .printed = AddressOf(&printed_)};
    std::memcpy(module_->Variable(guest::kFenceVariable), &words, sizeof words);
  }
  template <typename T>
  static uint64_t AddressOf(T* object) {
    return reinterpret_cast<uint64_t>(object);
  }

  void Run(const std::string& format) {
    window_.format[format.copy(window_.format, sizeof window_.format - 1)] = '\0';
    const auto result = module_->Run("k", GridLaunch{.block = {kThreads, 1, 1}}
                                              .Param(&window_.format[0])
                                              .Param(&window_.arguments[0])
                                              .Param(&window_.results[0])
                                              .Param(uint64_t{0}));
    ASSERT_TRUE(result) << result.error().text;
    ASSERT_FALSE(result->fault);
  }
  const guest::PrintHead& HeadAt(uint64_t place) const {
    return *reinterpret_cast<const guest::PrintHead*>(fifo_->ring + place);
  }

  std::optional<TestModule> module_;
  struct {
    alignas(32) char format[20000];
    uint64_t arguments[64];
    uint32_t results[kThreads];
  } window_{};
  const std::unique_ptr<guest::PrintFifo> fifo_ = std::make_unique<guest::PrintFifo>();
  uint64_t printed_ = 0;
  guest::FenceFault fault_{};
};

TEST_F(FencedPrint, WhatThereIsNoRoomForIsDropped) {
  const std::string line(3000, '.');
  for (int i = 0; i < 7; ++i) Run(line);
  EXPECT_EQ(window_.results[0], 0u) << "as if it were printed";
  const uint64_t each = HeadAt(0).bytes;
  EXPECT_EQ(each, 16 + 3008u);
  EXPECT_EQ(printed_, guest::kPrintRingBytes / each * each);
  for (uint64_t place = 0; place < printed_; place += each) {
    ASSERT_EQ(HeadAt(place).bytes, each);
    ASSERT_STREQ(reinterpret_cast<const char*>(&HeadAt(place) + 1), line.c_str());
  }
  Run("%d");
  EXPECT_EQ(HeadAt(0).bytes, each) << "nothing that has not been read is overwritten";

  fifo_->consumed = 2 * each;
  const uint64_t before = printed_;
  Run("a line that fits");
  EXPECT_GT(printed_, before);
  EXPECT_EQ(HeadAt(2 * each).bytes, each);
}

TEST_F(FencedPrint, ArgumentsAndStringsAreCopied) {
  std::strcpy(window_.format + 100, "text");
  window_.arguments[0] = 5;
  window_.arguments[1] = AddressOf(window_.format + 100);
  Run("%d %s");
  const auto* const record = reinterpret_cast<const char*>(fifo_->ring);
  const guest::PrintHead& head = HeadAt(0);
  uint64_t arguments[2];
  std::memcpy(arguments, record + head.arguments, sizeof arguments);
  EXPECT_EQ(arguments[0], 5u);
  EXPECT_STREQ(record + arguments[1], "text") << "an offset in place of the address";
  EXPECT_EQ(window_.results[0], 2u);
}

TEST_F(FencedPrint, FormatsStringsAndArgumentsHaveBounds) {
  Run(std::string(19000, 'x'));
  EXPECT_EQ(HeadAt(0).bytes, sizeof(guest::PrintHead) + guest::kMostPrintFormatBytes);
  fifo_->consumed = printed_;
  const uint64_t place = printed_ % guest::kPrintRingBytes;
  std::string many;
  for (int i = 0; i < 100; ++i) many += "%s";
  for (uint64_t& argument : window_.arguments) argument = AddressOf(window_.format);
  Run(many);
  const guest::PrintHead& head = HeadAt(place);
  EXPECT_EQ(window_.results[0], guest::kMostPrintArguments);
  EXPECT_EQ(head.bytes, head.arguments + guest::kMostPrintArguments * (sizeof(uint64_t) + many.size() + 1) / 8 * 8);
}

TEST_F(FencedPrint, AStringThatLeavesTheMemoryOfItsClientEndsThere) {
  window_.arguments[0] = AddressOf(&window_) + sizeof window_ - 3;
  std::memset(window_.results, 'y', sizeof window_.results);
  Run("%s");
  EXPECT_EQ(fault_.state, 0u);
  const guest::PrintHead& head = HeadAt(0);
  EXPECT_EQ(head.bytes, head.arguments + 8 + 8);
  window_.arguments[0] = AddressOf(fifo_.get());
  fifo_->consumed = printed_;
  const uint64_t place = printed_;
  Run("%s");
  EXPECT_EQ(fifo_->ring[place + HeadAt(place).arguments + 8], 0) << "of the FIFO itself nothing is read";
}

TEST_F(FencedPrint, WithoutAFifoNothingIsPrinted) {
  SetWords(0);
  Run("%d");
  EXPECT_EQ(printed_, 0u);
  EXPECT_EQ(window_.results[0], 1u);
}

}  // namespace
}  // namespace tutti::compiler
