#include "compiler/lower/inlining.h"

#include <algorithm>
#include <unordered_map>

namespace tutti::compiler::lowering {
namespace {

constexpr uint64_t kMaxInlinedInstructions = 20000;  // of one function with all that is inlined into it

// Sizes after inlining, callees first.
class SizeEstimate {
 public:
  SizeEstimate(const ptx::Module& source, const CallGraph& calls) : source_(source), calls_(calls) {}

  bool IsInlined(uint32_t f) {
    return !calls_.recursive(f) && !calls_.address_taken(f) && SizeOf(f) <= kMaxInlinedInstructions;
  }

 private:
  uint64_t SizeOf(uint32_t f) {
    if (const auto known = sizes_.find(f); known != sizes_.end()) return known->second;
    sizes_[f] = kMaxInlinedInstructions + 1;  // what a recursive call finds
    uint64_t size = source_.functions[f].instructions.size();
    for (const uint32_t callee : calls_.callees(f)) {
      if (size > kMaxInlinedInstructions) break;
      if (IsInlined(callee)) size += SizeOf(callee);
    }
    return sizes_[f] = size;
  }

  const ptx::Module& source_;
  const CallGraph& calls_;
  std::unordered_map<uint32_t, uint64_t> sizes_;
};

}  // namespace

void MarkInlining(const ptx::Module& source, const CallGraph& calls, const std::vector<uint32_t>& functions,
                  const std::function<llvm::Function*(uint32_t)>& ir_function) {
  SizeEstimate sizes(source, calls);
  for (const uint32_t f : functions) {
    llvm::Function* ir = ir_function(f);
    if (ir == nullptr || source.functions[f].is_entry) continue;
    ir->addFnAttr(sizes.IsInlined(f) ? llvm::Attribute::AlwaysInline : llvm::Attribute::NoInline);
  }
}

}  // namespace tutti::compiler::lowering
