#include "compiler/widen/testing/test_kernel.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <csetjmp>

#include "compiler/link/object_emitter.h"
#include "compiler/link/optimizer.h"
#include "compiler/link/shared_object.h"
#include "compiler/runtime/guest_runtime.h"
#include "compiler/widen/widen.h"

namespace tutti::compiler {
namespace {

Result<std::unique_ptr<llvm::Module>> Parse(const std::string& ir, llvm::LLVMContext& context) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(ir, diagnostic, context);
  if (module) return module;
  std::string text;
  llvm::raw_string_ostream out(text);
  diagnostic.print("test", out);
  return Fail(text);
}

Status WidenAndOptimize(llvm::Module& module, const TestTarget& target, llvm::TargetMachine& machine) {
  module.setDataLayout(machine.createDataLayout());
  WidenOptions options;
  options.name = "test";
  for (int i = 0; i < 3; ++i) options.block[i] = target.block[i];
  options.avx512 = target.target.level == VectorLevel::kAvx512;
  options.check_addresses = options.whole_pieces = target.check_addresses;
  options.lane_after_lane = target.lane_after_lane;
  TUTTI_TRY(VerifyModule(module, "the test"));
  TUTTI_TRY(Widen(module, options));
  TUTTI_TRY(VerifyModule(module, "widening"));
  TUTTI_TRY(LinkGuestRuntime(module));
  ApplyTarget(module, target.target, machine);
  OptimizeWide(module, machine, target.optimize);
  return VerifyModule(module, "optimising");
}

// The special registers of the thread that runs.
struct ThreadContext {
  uint32_t tid[3], ntid[3], ctaid[3], nctaid[3];
  uint64_t params;
  std::jmp_buf exit;
} g_thread;

template <auto Array, int kAxis>
uint32_t ReadRegister() {
  return (g_thread.*Array)[kAxis];
}
uint32_t ReadLane() {
  return (g_thread.tid[0] + g_thread.ntid[0] * (g_thread.tid[1] + g_thread.ntid[1] * g_thread.tid[2])) % 32;
}
uint32_t ReadWarp() {
  return (g_thread.tid[0] + g_thread.ntid[0] * (g_thread.tid[1] + g_thread.ntid[1] * g_thread.tid[2])) / 32;
}
uint64_t ReadParams() { return g_thread.params; }
void Yield() {}
void Exit() { std::longjmp(g_thread.exit, 1); }

// Parameters are at an offset from a base that is known only when a thread runs.
void RebaseParameters(llvm::Module& module) {
  llvm::IRBuilder<> builder(module.getContext());
  const llvm::FunctionCallee base = module.getOrInsertFunction("tutti.param_base", builder.getInt64Ty());
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load == nullptr || load->getPointerAddressSpace() != 101) continue;
      builder.SetInsertPoint(load);
      llvm::Value* offset = builder.CreatePtrToInt(load->getPointerOperand(), builder.getInt64Ty());
      llvm::Value* pointer =
          builder.CreateIntToPtr(builder.CreateAdd(builder.CreateCall(base), offset), builder.getPtrTy());
      load->replaceAllUsesWith(builder.CreateLoad(load->getType(), pointer));
      load->eraseFromParent();
    }
  }
}

// By itself, so that no variable lives across the jump back.
[[gnu::noinline]] void RunThread(void (*thread)()) {
  if (setjmp(g_thread.exit) == 0) thread();
}

}  // namespace

std::string KernelText(const std::string& body, uint32_t static_shared_bytes) {
  std::string text = R"(
declare i32 @tutti.tid.x() memory(none)
declare i32 @tutti.tid.y() memory(none)
declare i32 @tutti.ctaid.x() memory(none)
declare i32 @tutti.laneid() memory(none)
declare i64 @tutti.shared_base() memory(none)
declare i32 @tutti.activemask() convergent
declare {i32, i1} @tutti.shfl.idx.i32(i32, i32, i32, i32) convergent
declare i32 @tutti.ballot(i32, i1) convergent
declare i32 @tutti.match.any.i32(i32, i32) convergent
declare i32 @tutti.redux.add(i32, i32) convergent
declare i1 @tutti.elect(i32) convergent
declare i32 @tutti.matrix_load.along.32.p1(ptr addrspace(1), i64) convergent memory(read)
declare i32 @tutti.matrix_load.across.16.p1(ptr addrspace(1), i64) convergent memory(read)
declare {i32, i32} @tutti.matrix_rows.along.x2(i32) convergent memory(read)
declare {i32, i32, i32, i32} @tutti.matrix_rows.across.x4(i32) convergent memory(read)
declare void @tutti.warp_barrier(i32) convergent
declare void @tutti.barrier(i32, i32, i1) convergent
declare i32 @tutti.barrier.red.popc(i32, i32, i1) convergent
declare void @tutti.trap(i32) noreturn
declare void @tutti.exit() noreturn
!tutti.kernel = !{!0}
)";
  text += "!0 = !{i32 " + std::to_string(static_shared_bytes) + ", i32 0, i32 28}\n";
  text += R"(
define void @tutti.kernel() nounwind {
  %p0 = load i64, ptr addrspace(101) null
  %p1 = load i64, ptr addrspace(101) inttoptr (i64 8 to ptr addrspace(101))
  %p2 = load i64, ptr addrspace(101) inttoptr (i64 16 to ptr addrspace(101))
  %n = load i32, ptr addrspace(101) inttoptr (i64 24 to ptr addrspace(101))
  %tx = call i32 @tutti.tid.x()
  %ty = call i32 @tutti.tid.y()
)";
  return text + body + "}\n";
}

Result<std::string> WidenText(const std::string& ir, const TestTarget& target) {
  llvm::LLVMContext context;
  TUTTI_ASSIGN(const auto module, Parse(ir, context));
  TUTTI_ASSIGN(const auto machine, CreateTargetMachine(target.target, target.optimize));
  TUTTI_TRY(WidenAndOptimize(*module, target, *machine));
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, nullptr);
  return text;
}

Result<LoadedKernel> BuildWarps(const std::string& ir, const TestTarget& target) {
  llvm::LLVMContext context;
  TUTTI_ASSIGN(const auto module, Parse(ir, context));
  TUTTI_ASSIGN(const auto machine, CreateTargetMachine(target.target, target.optimize));
  TUTTI_TRY(WidenAndOptimize(*module, target, *machine));
  TUTTI_ASSIGN(const auto object, EmitObject(*module, *machine));
  TUTTI_ASSIGN(const auto shared, LinkSharedObject(object, SupportObject(), "test"));
  return LoadedKernel::Load(shared);
}

struct ScalarKernel::Engine {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*thread)() = nullptr;
};

ScalarKernel::ScalarKernel(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
ScalarKernel::ScalarKernel(ScalarKernel&&) noexcept = default;
ScalarKernel::~ScalarKernel() = default;

Result<ScalarKernel> ScalarKernel::Build(const std::string& ir) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto context = std::make_unique<llvm::LLVMContext>();
  TUTTI_ASSIGN(auto module, Parse(ir, *context));
  RebaseParameters(*module);
  auto engine = std::make_unique<Engine>();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) return Fail(llvm::toString(jit.takeError()));
  engine->jit = std::move(*jit);
  module->setDataLayout(engine->jit->getDataLayout());
  llvm::orc::SymbolMap symbols;
  const auto add = [&](const char* name, auto* function) {
    symbols[engine->jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                                   llvm::JITSymbolFlags::Exported};
  };
  add("tutti.tid.x", &ReadRegister<&ThreadContext::tid, 0>);
  add("tutti.tid.y", &ReadRegister<&ThreadContext::tid, 1>);
  add("tutti.tid.z", &ReadRegister<&ThreadContext::tid, 2>);
  add("tutti.ntid.x", &ReadRegister<&ThreadContext::ntid, 0>);
  add("tutti.ntid.y", &ReadRegister<&ThreadContext::ntid, 1>);
  add("tutti.ntid.z", &ReadRegister<&ThreadContext::ntid, 2>);
  add("tutti.ctaid.x", &ReadRegister<&ThreadContext::ctaid, 0>);
  add("tutti.ctaid.y", &ReadRegister<&ThreadContext::ctaid, 1>);
  add("tutti.nctaid.x", &ReadRegister<&ThreadContext::nctaid, 0>);
  add("tutti.laneid", &ReadLane);
  add("tutti.warpid", &ReadWarp);
  add("tutti.param_base", &ReadParams);
  add("tutti.exit", &Exit);
  add("tutti.yield", &Yield);
  if (auto error = engine->jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return Fail(llvm::toString(std::move(error)));
  if (auto error = engine->jit->addIRModule({std::move(module), std::move(context)}))
    return Fail(llvm::toString(std::move(error)));
  auto address = engine->jit->lookup("tutti.kernel");
  if (!address) return Fail(llvm::toString(address.takeError()));
  engine->thread = address->toPtr<void (*)()>();
  return ScalarKernel(std::move(engine));
}

void ScalarKernel::Run(const GridLaunch& launch) {
  g_thread.params = reinterpret_cast<uint64_t>(launch.params.data());
  for (int i = 0; i < 3; ++i) {
    g_thread.ntid[i] = launch.block[i];
    g_thread.nctaid[i] = launch.grid[i];
  }
  for (g_thread.ctaid[1] = 0; g_thread.ctaid[1] < launch.grid[1]; ++g_thread.ctaid[1]) {
    for (g_thread.ctaid[0] = 0; g_thread.ctaid[0] < launch.grid[0]; ++g_thread.ctaid[0]) {
      for (uint32_t thread = 0; thread < launch.block[0] * launch.block[1] * launch.block[2]; ++thread) {
        g_thread.tid[0] = thread % launch.block[0];
        g_thread.tid[1] = thread / launch.block[0] % launch.block[1];
        g_thread.tid[2] = thread / launch.block[0] / launch.block[1];
        RunThread(engine_->thread);
      }
    }
  }
}

}  // namespace tutti::compiler
