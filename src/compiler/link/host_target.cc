#include "compiler/link/host_target.h"

#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string_view>

#include "compiler/link/byte_products.h"
#include "compiler/link/byte_words.h"

namespace tutti::compiler {
namespace {

constexpr const char* kTriple = "x86_64-pc-linux-gnu";

// Shadow stacks and the like are decided by the process that loads the code, and do not concern vectors.
constexpr std::string_view kOfTheProcess[] = {"shstk", "ibt", "uintr"};
// APX: a preempted kernel does not get registers r16 to r31 back (guest/exec/guest_switch.S), and the other
// features are of use only with them. A processor's name may imply them, so they are disabled explicitly.
constexpr std::string_view kApx[] = {"ccmp", "cf", "egpr", "ndd", "nf", "ppx", "push2pop2", "zu"};

bool IsOneOf(std::span<const std::string_view> names, std::string_view feature) {
  return std::ranges::find(names, feature) != names.end();
}

std::string Join(std::vector<std::string> features) {
  std::sort(features.begin(), features.end());
  std::string text;
  for (const std::string& feature : features) text += '+' + feature + ',';
  for (const std::string_view feature : kApx) text += fmt::format("-{},", feature);
  text.pop_back();
  return text;
}

VectorLevel LevelOf(const std::vector<std::string>& features) {
  const auto has = [&](std::string_view name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  // avx512vl implies avx512f, and LLVM's tables list only what is not implied.
  if (has("avx512vl") && has("avx512bw") && has("avx512dq")) return VectorLevel::kAvx512;
  if (has("avx2") && has("fma")) return VectorLevel::kAvx2;
  return VectorLevel::kBaseline;
}

void InitializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

llvm::CodeGenOptLevel CodeGenLevel(uint32_t optimize) {
  switch (optimize) {
    case 0: return llvm::CodeGenOptLevel::None;
    case 1: return llvm::CodeGenOptLevel::Less;
    case 2: return llvm::CodeGenOptLevel::Default;
    default: return llvm::CodeGenOptLevel::Aggressive;
  }
}

}  // namespace

HostTarget HostTarget::With(std::string cpu, std::vector<std::string> features) {
  std::erase_if(features, [](const std::string& name) { return IsOneOf(kOfTheProcess, name) || IsOneOf(kApx, name); });
  HostTarget target;
  target.cpu = std::move(cpu);
  target.level = LevelOf(features);
  target.features = Join(std::move(features));
  return target;
}

HostTarget HostTarget::Named(std::string cpu) {
  llvm::SmallVector<llvm::StringRef, 64> names;
  llvm::X86::getFeaturesForCPU(cpu, names);
  return With(std::move(cpu), std::vector<std::string>(names.begin(), names.end()));
}

HostTarget HostTarget::Detect() {
  if (const char* cpu = std::getenv("TUTTI_CPU")) {
    llvm::SmallVector<llvm::StringRef, 64> known;
    llvm::X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
    if (std::find(known.begin(), known.end(), cpu) != known.end()) return Named(cpu);
  }
  std::vector<std::string> features;
  for (const auto& entry : llvm::sys::getHostCPUFeatures()) {
    if (entry.second) features.push_back(entry.first().str());
  }
  return With(llvm::sys::getHostCPUName().str(), std::move(features));
}

std::string HostTarget::CacheKey() const { return cpu + ' ' + features + " LLVM " LLVM_VERSION_STRING; }

uint32_t HostTarget::vector_bits() const {
  switch (level) {
    case VectorLevel::kAvx512: return 512;
    case VectorLevel::kAvx2: return 256;
    case VectorLevel::kBaseline: break;
  }
  return 128;
}

Result<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(const HostTarget& target, uint32_t optimize) {
  InitializeOnce();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (found == nullptr) return Fail("no code generator for x86-64 in this LLVM: " + error);
  llvm::TargetOptions options;
  options.LoopAlignment = 64;  // short loops in one line: by multiples of 16, a tenth slower where they begin badly
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.EnableFastISel = optimize == 0;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(kTriple, target.cpu, target.features, options,
                                                                          llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                          CodeGenLevel(optimize)));
  if (!machine) return Fail("no code generator for processor " + target.cpu);
  return machine;
}

namespace {

// Functions of the guest runtime that may be copied to where they are called (TUTTI_IN_PLACE of runtime/vector.h)
// remain functions where there are many such places: copies take longer to compile. So do all of them for processors
// without fused multiply-adds, for which each of these is 32 calls.
void KeepWhatIsCalledOften(llvm::Module& module, VectorLevel level) {
  constexpr unsigned kMostCopies[] = {0, 8, 32};
  for (llvm::Function& function : module) {
    const bool may_be_copied = function.hasFnAttribute(llvm::Attribute::AlwaysInline);
    if (!may_be_copied || !function.getName().starts_with("tutti_v_")) continue;
    if (!function.hasNUsesOrMore(kMostCopies[static_cast<size_t>(level)] + 1)) continue;
    function.removeFnAttr(llvm::Attribute::AlwaysInline);
    function.addFnAttr(llvm::Attribute::NoInline);
  }
}

}  // namespace

void ApplyTarget(llvm::Module& module, const HostTarget& target, llvm::TargetMachine& machine) {
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  const std::string bits = std::to_string(target.vector_bits());
  UseByteProducts(module, target);
  UseByteWords(module, target);
  KeepWhatIsCalledOften(module, target.level);
  for (llvm::Function& function : module) {
    if (function.isIntrinsic()) continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    // Without these two, LLVM uses 256-bit registers on processors that once slowed down for wider ones.
    function.addFnAttr("prefer-vector-width", bits);
    function.addFnAttr("min-legal-vector-width", bits);
    // A frame larger than the guard below a guest's stack (guest/exec/guest_stack.h) must not step over it.
    function.addFnAttr("probe-stack", "inline-asm");
    function.addFnAttr("stack-probe-size", "32768");
  }
}

}  // namespace tutti::compiler
