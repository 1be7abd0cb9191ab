#include "compiler/pipeline.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <optional>
#include <string_view>
#include <utility>

#include "compiler/input/read_module.h"
#include "compiler/link/object_emitter.h"
#include "compiler/link/optimizer.h"
#include "compiler/link/shared_object.h"
#include "compiler/lower/lower.h"
#include "compiler/runtime/guest_runtime.h"
#include "compiler/threads/threads.h"
#include "compiler/widen/widen.h"
#include "cuda/result.h"

namespace tutti::compiler {
namespace {

// Of scalar IR: optimised code of fewer is there within some 50 ms.
constexpr uint32_t kLeastInstructions = 250;

std::vector<uint8_t> Bytes(std::string_view text) { return {text.begin(), text.end()}; }

std::vector<uint8_t> Text(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return Bytes(text);
}

std::optional<uint32_t> FindKernel(const ptx::Module& module, const std::string& name) {
  for (uint32_t i = 0; i < module.functions.size(); ++i) {
    if (module.functions[i].is_entry && module.functions[i].name == name) return i;
  }
  return std::nullopt;
}

Result<std::vector<uint8_t>> Generate(llvm::Module& module, llvm::TargetMachine& machine, const std::string& kernel,
                                      const CompileOptions& options, PhaseTimes& times) {
  times.Start("generate");
  if (options.until == Stage::kAssembly) {
    TUTTI_ASSIGN(const std::string assembly, EmitAssembly(module, machine));
    return Bytes(assembly);
  }
  TUTTI_ASSIGN(std::vector<uint8_t> object, EmitObject(module, machine));
  if (options.until == Stage::kObject) return object;
  times.Start("link");
  return LinkSharedObject(object, SupportObject(), kernel);
}

ThreadOptions ThreadOptionsOf(const std::string& kernel, const CompileOptions& options) {
  ThreadOptions threads{.name = kernel,
                        .has_fma = options.target.level != VectorLevel::kBaseline,
                        .least_instructions = options.quick_for_all ? 0 : kLeastInstructions,
                        .any_loop = options.quick_for_all,
                        .renews_all = options.quick_renews_all};
  for (int i = 0; i < 3; ++i) threads.block[i] = options.block[i];
  return threads;
}

// Of a copy: the optimised code is made of the same.
Result<std::vector<uint8_t>> FinishQuick(const llvm::Module& lowered, const std::string& kernel,
                                         const CompileOptions& options, PhaseTimes& times) {
  times.Start("threads");
  const ThreadOptions threads = ThreadOptionsOf(kernel, options);
  TUTTI_TRY(CheckForThreads(lowered, threads));
  const auto copy = llvm::CloneModule(lowered);
  llvm::Module& module = *copy;
  TUTTI_TRY(MakeThreads(module, threads));
  TUTTI_TRY(VerifyModule(module, "threads"));
  TUTTI_ASSIGN(const auto machine, CreateTargetMachine(options.target, 0));
  ApplyTarget(module, options.target, *machine);
  if (options.until == Stage::kWideIr || options.until == Stage::kOptimizedIr) return Text(module);
  return Generate(module, *machine, kernel, options, times);
}

LowerOptions LowerOptionsOf(const CompileOptions& options) {
  return {.block = options.block, .optimize = options.optimize > 0};
}

// Everything about one kernel after lowering; `times` is never null here.
Result<std::vector<uint8_t>> Finish(llvm::Module& module, const std::string& kernel, const CompileOptions& options,
                                    PhaseTimes& times) {
  times.Start("widen");
  WidenOptions widen;
  widen.name = kernel;
  for (int i = 0; i < 3; ++i) widen.block[i] = options.block[i];
  widen.avx512 = options.target.level == VectorLevel::kAvx512;
  widen.check_addresses = options.check_addresses;
  widen.lane_after_lane = options.lane_after_lane;
  widen.turns_end = options.turns_end;
  widen.apart_copies = options.apart_copies;
  TUTTI_TRY(Widen(module, widen));
  TUTTI_TRY(VerifyModule(module, "widening"));
  if (options.until == Stage::kWideIr) return Text(module);

  times.Start("runtime");
  TUTTI_ASSIGN(const auto machine, CreateTargetMachine(options.target, options.optimize));
  TUTTI_TRY(LinkGuestRuntime(module));
  ApplyTarget(module, options.target, *machine);
  times.Start("optimise");
  OptimizeWide(module, *machine, options.optimize);
  if (options.until == Stage::kOptimizedIr) return Text(module);

  return Generate(module, *machine, kernel, options, times);
}

}  // namespace

// A kernel's scalar IR.
struct ImageCompiler::Lowered {
  std::string kernel;
  LowerOptions options;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;

  bool Is(const std::string& other, const LowerOptions& how) const {
    return kernel == other && options.block == how.block && options.optimize == how.optimize;
  }
};

ImageCompiler::ImageCompiler(std::unique_ptr<ptx::Module> module, std::unique_ptr<ModuleLayout> layout)
    : module_(std::move(module)), layout_(std::move(layout)) {}

Result<std::unique_ptr<ImageCompiler>> ImageCompiler::Open(std::span<const uint8_t> image, uint32_t capability,
                                                           PhaseTimes* times) {
  PhaseTimes unwatched;
  PhaseTimes& phases = times != nullptr ? *times : unwatched;
  phases.Start("parse");
  TUTTI_ASSIGN(ptx::Module read, ReadModule(image, capability));
  auto module = std::make_unique<ptx::Module>(std::move(read));
  phases.Start("layout");
  TUTTI_ASSIGN(ModuleLayout layout, ModuleLayout::Make(*module));
  phases.Stop();
  return std::unique_ptr<ImageCompiler>(
      new ImageCompiler(std::move(module), std::make_unique<ModuleLayout>(std::move(layout))));
}

ImageCompiler::~ImageCompiler() = default;

Result<std::unique_ptr<ImageCompiler::Lowered>> ImageCompiler::Lower(const std::string& kernel,
                                                                     const CompileOptions& options) const {
  const auto function = FindKernel(*module_, kernel);
  if (!function) return Fail(cuda::CUDA_ERROR_NOT_FOUND, "there is no kernel " + kernel + " in this module");
  auto lowered = std::make_unique<Lowered>();
  lowered->kernel = kernel;
  lowered->options = LowerOptionsOf(options);
  LowerDiagnostics diagnostics;
  auto module = LowerKernel(lowered->context, *module_, *function, *layout_, lowered->options, diagnostics);
  if (!module) {
    return Fail(module.error().code, "kernel " + kernel + " cannot be compiled: " + module.error().text +
                                         (diagnostics.empty() ? "" : "\n" + diagnostics.Text()));
  }
  TUTTI_TRY(VerifyModule(**module, "lowering"));
  lowered->module = std::move(*module);
  return lowered;
}

Result<std::vector<uint8_t>> ImageCompiler::Compile(const std::string& kernel, const CompileOptions& options,
                                                    PhaseTimes* times) {
  PhaseTimes unwatched;
  PhaseTimes& phases = times != nullptr ? *times : unwatched;
  phases.Start("lower");
  std::unique_ptr<Lowered> lowered = std::move(lowered_);
  if (lowered == nullptr || !lowered->Is(kernel, LowerOptionsOf(options))) {
    TUTTI_ASSIGN(lowered, Lower(kernel, options));
  }
  if (options.until == Stage::kScalarIr) return Text(*lowered->module);
  auto result = options.quick ? FinishQuick(*lowered->module, kernel, options, phases)
                              : Finish(*lowered->module, kernel, options, phases);
  phases.Stop();
  if (options.quick) lowered_ = std::move(lowered);
  if (!result && result.error().code == 0)
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "kernel " + kernel + " cannot be compiled: " + result.error().text);
  return result;
}

}  // namespace tutti::compiler
