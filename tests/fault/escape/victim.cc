#include "victim.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "../../compat/driver_api.h"
#include "wire/channel_layout.h"

namespace tutti::fault {
namespace {

using namespace cuda;

// Neighbours exchange values through shared memory and a barrier, and every thread counts itself.
constexpr char kPtx[] = R"(
.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 exchange[1024];
.visible .entry mix(.param .u64 in, .param .u64 out, .param .u64 count, .param .u32 round)
{
  .reg .b32 %r<16>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [in];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [count];
  ld.param.u32 %r0, [round];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 256, %r1;
  mul.wide.u32 %rd3, %r3, 4;
  add.s64 %rd4, %rd0, %rd3;
  ld.global.u32 %r4, [%rd4];
  mad.lo.u32 %r5, %r4, 1664525, %r0;
  mov.u32 %r6, exchange;
  mad.lo.u32 %r7, %r1, 4, %r6;
  st.shared.u32 [%r7], %r5;
  bar.sync 0;
  xor.b32 %r8, %r1, 33;
  mad.lo.u32 %r9, %r8, 4, %r6;
  ld.shared.u32 %r10, [%r9];
  shr.u32 %r10, %r10, 7;
  xor.b32 %r11, %r5, %r10;
  add.s64 %rd5, %rd1, %rd3;
  st.global.u32 [%rd5], %r11;
  atom.global.add.u32 %r12, [%rd2], 1;
  ret;
}
)";

constexpr uint32_t kBlocks = 8, kThreads = 256, kCount = kBlocks * kThreads;
constexpr size_t kSecretBytes = 64 << 10;

uint32_t Input(uint32_t i, uint32_t round) { return (i + 1) * 2654435761u ^ round; }
uint32_t Mixed(uint32_t i, uint32_t round) { return Input(i, round) * 1664525u + round; }
uint32_t Expected(uint32_t i, uint32_t round) { return Mixed(i, round) ^ (Mixed(i ^ 33, round) >> 7); }

class Victim {
 public:
  explicit Victim(VictimPage& page) : page_(page) {}

  void Work() {
    Begin();
    for (uint32_t round = 1; !page_.stop.load(); ++round) {
      Compute(round);
      Check("cuMemcpyDtoH of the secret", cuMemcpyDtoH_v2(seen_.data(), secret_, kSecretBytes));
      if (std::memcmp(seen_.data(), text_.data(), kSecretBytes) != 0) Fail("the secret has changed");
      page_.rounds.fetch_add(1);
      usleep(500);
    }
  }

 private:
  [[noreturn]] void Fail(const std::string& what) {
    fmt::format_to_n(page_.failure, sizeof page_.failure - 1, "round {}: {}", page_.rounds.load(), what);
    page_.failed.store(true);
    _exit(1);
  }
  void Check(const char* what, CUresult result) {
    if (result != CUDA_SUCCESS) Fail(fmt::format("{}: error {}", what, static_cast<int>(result)));
  }

  void Begin() {
    CUcontext context;
    CUmodule module;
    Check("cuInit", cuInit(0));
    Check("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, 0));
    Check("cuCtxSetCurrent", cuCtxSetCurrent(context));
    Check("cuModuleLoadData", cuModuleLoadData(&module, kPtx));
    Check("cuModuleGetFunction", cuModuleGetFunction(&mix_, module, "mix"));
    for (CUdeviceptr* address : {&in_, &out_}) Check("cuMemAlloc", cuMemAlloc_v2(address, kCount * 4));
    Check("cuMemAlloc", cuMemAlloc_v2(&count_, 4));
    Check("cuMemAlloc", cuMemAlloc_v2(&secret_, kSecretBytes));
    while (text_.size() < kSecretBytes) text_ += kSecret;
    text_.resize(kSecretBytes);
    seen_.resize(kSecretBytes);
    Check("cuMemcpyHtoD", cuMemcpyHtoD_v2(secret_, text_.data(), kSecretBytes));
    page_.server.store(ServerOfThisProcess());
    page_.secret.store(secret_);
  }

  void Compute(uint32_t round) {
    std::vector<uint32_t> values(kCount);
    for (uint32_t i = 0; i < kCount; ++i) values[i] = Input(i, round);
    Check("cuMemcpyHtoD", cuMemcpyHtoD_v2(in_, values.data(), kCount * 4));
    Check("cuMemsetD8", cuMemsetD8_v2(count_, 0, 4));
    void* arguments[] = {&in_, &out_, &count_, &round};
    Check("cuLaunchKernel", cuLaunchKernel(mix_, kBlocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr));
    Check("cuCtxSynchronize", cuCtxSynchronize());
    Check("cuMemcpyDtoH", cuMemcpyDtoH_v2(values.data(), out_, kCount * 4));
    for (uint32_t i = 0; i < kCount; ++i) {
      if (values[i] != Expected(i, round))
        Fail(fmt::format("value {} is {:#x}, not {:#x}", i, values[i], Expected(i, round)));
    }
    uint32_t count = 0;
    Check("cuMemcpyDtoH", cuMemcpyDtoH_v2(&count, count_, 4));
    if (count != kCount) Fail(fmt::format("{} threads counted themselves, not {}", count, kCount));
  }

  // The process at the other end of the session, by the name in the channel, which is mapped here.
  static int ServerOfThisProcess() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("memfd:tutti-channel") == std::string::npos) continue;
      const auto* header = reinterpret_cast<const wire::ChannelHeader*>(std::stoull(line, nullptr, 16));
      return static_cast<int>(header->server_pid);
    }
    return 0;
  }

  VictimPage& page_;
  CUfunction mix_ = nullptr;
  CUdeviceptr in_ = 0, out_ = 0, count_ = 0, secret_ = 0;
  std::string text_, seen_;
};

}  // namespace

void BeTheVictim(VictimPage& page) {
  Victim(page).Work();
  _exit(0);
}

}  // namespace tutti::fault
