#include "compiler/link/shared_object.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "compiler/link/host_target.h"
#include "compiler/link/object_emitter.h"
#include "compiler/link/optimizer.h"

namespace tutti::compiler {
namespace {

Result<std::vector<uint8_t>> Build(const char* ir, const HostTarget& target = HostTarget::Detect()) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(ir, diagnostic, context);
  if (!module) return Fail(diagnostic.getMessage().str());
  auto machine = CreateTargetMachine(target, 2);
  if (!machine) return std::unexpected(machine.error());
  ApplyTarget(*module, target, **machine);
  OptimizeWide(*module, **machine, 2);
  TUTTI_TRY(VerifyModule(*module, "test"));
  TUTTI_ASSIGN(const auto object, EmitObject(*module, **machine));
  return LinkSharedObject(object, {}, "test.so");
}

constexpr const char* kAdd = R"(
  define void @add(ptr %out, ptr %a, ptr %b) {
    %x = load <32 x float>, ptr %a, align 4
    %y = load <32 x float>, ptr %b, align 4
    %s = fadd <32 x float> %x, %y
    store <32 x float> %s, ptr %out, align 4
    ret void
  })";

TEST(SharedObject, LoadsFromMemoryAndRuns) {
  const auto bytes = Build(kAdd);
  ASSERT_TRUE(bytes) << bytes.error().text;
  const int file = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(write(file, bytes->data(), bytes->size()), static_cast<ssize_t>(bytes->size()));
  void* library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto add = reinterpret_cast<void (*)(float*, const float*, const float*)>(dlsym(library, "add"));
  float a[32], b[32], sum[32] = {};
  for (int i = 0; i < 32; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = 0.5f;
  }
  add(sum, a, b);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(sum[i], static_cast<float>(i) + 0.5f);
  dlclose(library);
  close(file);
}

TEST(SharedObject, RefusesAnObjectThatNeedsSomethingOutside) {
  const auto bytes =
      Build("declare void @system(ptr)\n define void @f(ptr %p) {\n call void @system(ptr %p)\n ret void\n }");
  ASSERT_FALSE(bytes);
  EXPECT_NE(bytes.error().text.find("system"), std::string::npos) << bytes.error().text;
}

TEST(SharedObject, LinksAgainAfterAFailedLink) {
  EXPECT_FALSE(Build("declare void @g()\n define void @f() {\n call void @g()\n ret void\n }"));
  EXPECT_TRUE(Build(kAdd));
}

TEST(HostTarget, NamedProcessorsHaveTheirVectorLevel) {
  EXPECT_EQ(HostTarget::Named("x86-64-v2").level, VectorLevel::kBaseline);
  EXPECT_EQ(HostTarget::Named("x86-64-v3").level, VectorLevel::kAvx2);
  EXPECT_EQ(HostTarget::Named("x86-64-v4").level, VectorLevel::kAvx512);
  EXPECT_NE(HostTarget::Named("x86-64-v3").CacheKey(), HostTarget::Named("x86-64-v4").CacheKey());
}

TEST(HostTarget, EveryLevelGeneratesCode) {
  for (const char* cpu : {"x86-64", "x86-64-v3", "x86-64-v4"}) EXPECT_TRUE(Build(kAdd, HostTarget::Named(cpu))) << cpu;
}

}  // namespace
}  // namespace tutti::compiler
