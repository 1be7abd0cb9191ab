#include "compiler/lower/first_zeroes.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>

#include "compiler/lower/llvm.h"
#include "compiler/passes/pass_managers.h"

namespace tutti::compiler::lowering {
namespace {

// Whether register %r still begins as zero in a function with this body.
bool BeginsAsZero(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const auto module = llvm::parseAssemblyString(
      "declare void @use(i32)\ndefine void @f(i1 %c) {\n  %r = alloca i32\n  store i32 0, ptr %r\n" + body + "}\n",
      error, context);
  EXPECT_NE(module, nullptr) << error.getMessage().str();
  if (module == nullptr) return false;
  PassManagers managers{llvm::Triple("x86_64-pc-linux-gnu")};
  llvm::Function& function = *module->getFunction("f");
  FirstZeroesPass().run(function, managers.functions);
  const llvm::Instruction* second = function.getEntryBlock().front().getNextNode();
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(second);
  return store != nullptr && llvm::isa<llvm::ConstantInt>(store->getValueOperand()) &&
         llvm::cast<llvm::ConstantInt>(store->getValueOperand())->isZero();
}

const std::string kWrite = "  store i32 7, ptr %r\n";
std::string Read(const std::string& name) {
  return "  %" + name + " = load i32, ptr %r\n  call void @use(i32 %" + name + ")\n";
}

TEST(FirstZeroes, GoWhereAWriteComesFirst) {
  EXPECT_FALSE(BeginsAsZero(kWrite + Read("x") + kWrite + Read("y") + "  ret void\n"));
  EXPECT_FALSE(BeginsAsZero(kWrite + "  br label %later\nlater:\n" + Read("x") + "  ret void\n"));
}

TEST(FirstZeroes, GoWhereNobodyReads) { EXPECT_FALSE(BeginsAsZero("  ret void\n")); }

TEST(FirstZeroes, StayWhereAReadComesFirst) {
  EXPECT_TRUE(BeginsAsZero(Read("x") + kWrite + Read("y") + "  ret void\n"));
  EXPECT_TRUE(BeginsAsZero("  br label %loop\nloop:\n" + Read("x") + kWrite +
                           "  br i1 %c, label %loop, label %end\nend:\n  ret void\n"));
}

TEST(FirstZeroes, StayWhereAReadMayGoPastTheWrite) {
  EXPECT_TRUE(BeginsAsZero("  br i1 %c, label %yes, label %end\nyes:\n" + kWrite + "  br label %end\nend:\n" +
                           Read("x") + "  ret void\n"));
}

// The number of writes is unlimited, but not all of them are checked.
TEST(FirstZeroes, StayWhereThereAreManyWritesInManyBlocks) {
  std::string body = "  br label %b0\n";
  for (int i = 0; i < 20; ++i)
    body += "b" + std::to_string(i) + ":\n" + kWrite + "  br label %b" + std::to_string(i + 1) + "\n";
  EXPECT_TRUE(BeginsAsZero(body + "b20:\n" + Read("x") + "  ret void\n"));
}

TEST(FirstZeroes, StayWhereTheAddressGoesElsewhere) {
  EXPECT_TRUE(
      BeginsAsZero(kWrite + "  %n = ptrtoint ptr %r to i32\n  call void @use(i32 %n)\n" + Read("x") + "  ret void\n"));
}

}  // namespace
}  // namespace tutti::compiler::lowering
