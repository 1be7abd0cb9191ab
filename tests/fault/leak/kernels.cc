#include "kernels.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::fault {
namespace {

using namespace cuda;

// `text` for i = 0, 1, ...
std::string Repeat(uint32_t count, const char* text) {
  std::string all;
  for (uint32_t i = 0; i < count; ++i) all += fmt::format(fmt::runtime(text), fmt::arg("i", i), fmt::arg("at", 4 * i));
  return all;
}

// A kernel with registers %p, %r, %s, %rd for `body`, which has the first parameter in %rd0.
std::string Kernel(const char* name, const char* parameters, const std::string& body) {
  return fmt::format(R"(
.visible .entry {}(.param .u64 {})
{{
  .local .align 16 .b8 depot[1024];
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b32 %s<64>;
  .reg .b64 %rd<8>;
{}  ret;
}}
)",
                     name, parameters, body);
}
std::string Finder(const char* name, const std::string& body) {
  return Kernel(name, "out, .param .u32 never", "  ld.param.u64 %rd0, [out];\n  mov.u32 %r0, %tid.x;\n" + body);
}

constexpr const char* kBegin = R"(
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 bytes);
.global .align 4 .u32 variable = 7;
.const .align 4 .u32 constant = 7;
.extern .shared .align 16 .b8 dynamic[];

.func (.param .b64 r) get(.param .b64 bytes)
{
  .reg .b64 %rd<2>;
  ld.param.b64 %rd0, [bytes];
  { .param .b64 a; .param .b64 b; st.param.b64 [a], %rd0; call.uni (b), malloc, (a); ld.param.b64 %rd1, [b]; }
  st.param.b64 [r], %rd1;
  ret;
}
)";

// Volatile here and below: the compiler must not optimise reads of what was never written, or writes that nobody reads.
std::string Plant() {
  return Kernel("plant", "flag, .param .u32 secret",
                R"(
  ld.param.u32 %r0, [secret];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, dynamic;
shared_words:
  mad.lo.u32 %r3, %r1, 4, %r2;
  st.volatile.shared.u32 [%r3], %r0;
  add.u32 %r1, %r1, 256;
  setp.lt.u32 %p0, %r1, 12288;
  @%p0 bra shared_words;
  mov.u32 %r4, 0;
  mov.u64 %rd5, depot;
local_words:
  cvt.u64.u32 %rd6, %r4;
  add.s64 %rd6, %rd5, %rd6;
  st.volatile.local.u32 [%rd6], %r0;
  add.u32 %r4, %r4, 4;
  setp.lt.u32 %p1, %r4, 1024;
  @%p1 bra local_words;
  mov.u64 %rd0, variable;
  st.volatile.global.u32 [%rd0], %r0;
  { .param .b64 a; .param .b64 b; st.param.b64 [a], 256; call.uni (b), get, (a); ld.param.b64 %rd1, [b]; }
  setp.eq.u64 %p2, %rd1, 0;
  @%p2 bra registers;
)" + Repeat(64, "  st.volatile.u32 [%rd1+{at}], %r0;\n") +
                    "registers:\n  mov.u32 %r8, %tid.x;\n" +
                    Repeat(48, "  shfl.sync.idx.b32 %s{i}, %r0, %r8, 31, -1;\n") + R"(
  ld.param.u64 %rd2, [flag];
  setp.eq.u64 %p3, %rd2, 0;
  @%p3 bra done;
hold:
)" + Repeat(48, "  xor.b32 %s{i}, %s{i}, %r8;\n") +
                    R"(
  ld.volatile.global.u32 %r9, [%rd2];
  mov.u32 %r8, 0;
  setp.eq.u32 %p3, %r9, 0;
  @%p3 bra hold;
done:
  mov.u32 %r10, 0;
)" + Repeat(48, "  add.u32 %r10, %r10, %s{i};\n") +
                    "  st.volatile.local.u32 [depot], %r10;\n");
}

std::string FindShared() {
  return Finder("find_shared", R"(
  mov.u32 %r1, dynamic;
words:
  mad.lo.u32 %r2, %r0, 4, %r1;
  ld.volatile.shared.u32 %r3, [%r2];
  mul.wide.u32 %rd1, %r0, 4;
  add.s64 %rd2, %rd0, %rd1;
  st.global.u32 [%rd2], %r3;
  add.u32 %r0, %r0, 256;
  setp.lt.u32 %p0, %r0, 12288;
  @%p0 bra words;
)");
}

std::string FindLocal() {
  return Finder("find_local", R"(
  mul.wide.u32 %rd1, %r0, 1024;
  add.s64 %rd0, %rd0, %rd1;
  mov.u32 %r1, 0;
  mov.u64 %rd4, depot;
words:
  cvt.u64.u32 %rd2, %r1;
  add.s64 %rd5, %rd4, %rd2;
  ld.volatile.local.u32 %r4, [%rd5];
  add.s64 %rd3, %rd0, %rd2;
  st.global.u32 [%rd3], %r4;
  add.u32 %r1, %r1, 4;
  setp.lt.u32 %p1, %r1, 1024;
  @%p1 bra words;
)");
}

std::string FindRegisters() {
  return Finder("find_registers", R"(
  ld.param.u32 %r0, [never];
  setp.ne.u32 %p0, %r0, 0;
)" + Repeat(64, "  @%p0 mov.u32 %s{i}, {i};\n  st.volatile.global.u32 [%rd0+{at}], %s{i};\n") +
                                      R"(
  ld.volatile.global.u32 %r1, [%rd0+8192];
  @%p0 mov.u32 %r1, 1;
)" + Repeat(31, "  shfl.sync.idx.b32 %r2, %r1, {i}, 31, -1;\n  st.volatile.global.u32 [%rd0+{at}+256], %r2;\n") +
                                      Repeat(31,
                                             "  @%p0 mov.u32 %r3, 5;\n  shfl.sync.down.b32 %r2, %r3, {i}, 31, -1;\n  "
                                             "st.volatile.global.u32 [%rd0+{at}+384], %r2;\n"));
}

std::string FindHeap() {
  return Finder("find_heap", R"(
  mul.wide.u32 %rd1, %r0, 256;
  add.s64 %rd0, %rd0, %rd1;
  { .param .b64 a; .param .b64 b; st.param.b64 [a], 256; call.uni (b), get, (a); ld.param.b64 %rd2, [b]; }
  setp.eq.u64 %p0, %rd2, 0;
  @%p0 bra done;
)" + Repeat(64, "  ld.volatile.u32 %r1, [%rd2+{at}];\n  st.global.u32 [%rd0+{at}], %r1;\n") +
                                 "done:\n");
}

std::string FindVariables() {
  return Finder("find_variables", R"(
  ld.global.u32 %r0, [variable];
  ld.const.u32 %r1, [constant];
  st.global.u32 [%rd0], %r0;
  st.global.u32 [%rd0+4], %r1;
)");
}

std::string Ptx() {
  return kBegin + Plant() + FindShared() + FindLocal() + FindRegisters() + FindHeap() + FindVariables();
}

}  // namespace

LeakModule::LeakModule(ActorPage& page) : page_(page) {
  Check(page, "cuModuleLoadData", cuModuleLoadData(&module_, Ptx().c_str()));
}

void LeakModule::Launch(const char* kernel, uint32_t threads, uint32_t shared_bytes, std::vector<void*> arguments) {
  CUfunction function;
  Check(page_, kernel, cuModuleGetFunction(&function, module_, kernel));
  Check(page_, kernel,
        cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, shared_bytes, nullptr, arguments.data(), nullptr));
}

void LeakModule::Hold(CUdeviceptr flag) {
  uint32_t secret = kSecretWord;
  Launch("plant", kThreads, kSharedWords * 4, {&flag, &secret});
}

void LeakModule::Plant() {
  Hold(0);
  Check(page_, "plant", cuCtxSynchronize());
  uint32_t secret = kSecretWord;
  Check(page_, "cuMemcpyHtoD of the constant", cuMemcpyHtoD_v2(Variable("constant"), &secret, 4));
}

std::vector<uint32_t> LeakModule::Found(const char* kernel, uint32_t threads, uint32_t shared_bytes, size_t words) {
  CUdeviceptr out;
  uint32_t never = 0;
  std::vector<uint32_t> found(words);
  Check(page_, "cuMemAlloc", cuMemAlloc_v2(&out, std::max<size_t>(words * 4, 16384)));
  Launch(kernel, threads, shared_bytes, {&out, &never});
  Check(page_, kernel, cuMemcpyDtoH_v2(found.data(), out, words * 4));
  Check(page_, "cuMemFree", cuMemFree_v2(out));
  return found;
}

std::vector<uint32_t> LeakModule::SharedMemory() {
  return Found("find_shared", kThreads, kSharedWords * 4, kSharedWords);
}
std::vector<uint32_t> LeakModule::LocalMemory() { return Found("find_local", kThreads, 0, kThreads * kLocalWords); }
std::vector<uint32_t> LeakModule::Registers() { return Found("find_registers", 1, 0, 2 * kRegisterWords); }
std::vector<uint32_t> LeakModule::Heap() { return Found("find_heap", kThreads, 0, kThreads * 64); }
std::vector<uint32_t> LeakModule::Variables() { return Found("find_variables", 1, 0, 2); }

CUdeviceptr LeakModule::Variable(const char* name) {
  CUdeviceptr address;
  size_t bytes;
  Check(page_, name, cuModuleGetGlobal_v2(&address, &bytes, module_, name));
  return address;
}

bool HasSecret(const std::vector<uint32_t>& words) { return std::ranges::find(words, kSecretWord) != words.end(); }

}  // namespace tutti::fault
