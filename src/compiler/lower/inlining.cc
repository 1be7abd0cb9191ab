#include "compiler/lower/inlining.h"

#include <unordered_map>

namespace tutti::compiler::lowering {
namespace {

// Bounds on a function with all that is inlined into it: if it has one call site, and if it has several and would be
// there for each; and on all of these together. (The check of a fence has a hundred instructions and a call for each
// access.)
constexpr uint64_t kMaxInlinedOnce = 20000;
constexpr uint64_t kMaxInlinedInstructions = 2000;
constexpr uint64_t kMaxDuplicatedInstructions = 4000;

// Sizes after inlining, callees first.
class SizeEstimate {
 public:
  SizeEstimate(const ptx::Module& source, const CallGraph& calls, const std::vector<uint32_t>& functions)
      : source_(source), calls_(calls) {
    for (const uint32_t f : functions) {
      for (const uint32_t callee : calls.callees(f)) ++call_sites_[callee];
    }
  }

  bool IsInlined(uint32_t f) {
    if (calls_.recursive(f) || calls_.address_taken(f)) return false;
    const uint64_t size = SizeOf(f), sites = call_sites_[f];
    if (sites == 1) return size <= kMaxInlinedOnce;
    return size <= kMaxInlinedInstructions && size * sites <= kMaxDuplicatedInstructions;
  }

 private:
  uint64_t SizeOf(uint32_t f) {
    if (const auto known = sizes_.find(f); known != sizes_.end()) return known->second;
    sizes_[f] = kMaxInlinedOnce + 1;  // what a recursive call sees
    uint64_t size = source_.functions[f].instructions.size();
    for (const uint32_t callee : calls_.callees(f)) {
      if (size > kMaxInlinedOnce) break;
      if (IsInlined(callee)) size += SizeOf(callee);
    }
    return sizes_[f] = size;
  }

  const ptx::Module& source_;
  const CallGraph& calls_;
  std::unordered_map<uint32_t, uint64_t> sizes_;
  std::unordered_map<uint32_t, uint32_t> call_sites_;
};

}  // namespace

void MarkInlining(const ptx::Module& source, const CallGraph& calls, const std::vector<uint32_t>& functions,
                  const std::function<llvm::Function*(uint32_t)>& ir_function) {
  SizeEstimate sizes(source, calls, functions);
  for (const uint32_t f : functions) {
    llvm::Function* ir = ir_function(f);
    if (ir == nullptr || source.functions[f].is_entry) continue;
    ir->addFnAttr(sizes.IsInlined(f) ? llvm::Attribute::AlwaysInline : llvm::Attribute::NoInline);
  }
}

}  // namespace tutti::compiler::lowering
