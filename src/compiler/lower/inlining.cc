#include "compiler/lower/inlining.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tutti::compiler::lowering {
namespace {

// Of one function with all that is inlined into it: where it is called once, and where it is called from several places
// and would be there as often.
constexpr uint64_t kMaxInlinedOnce = 20000;
constexpr uint64_t kMaxInlinedInstructions = 2000;

bool HasExit(const ptx::Function& function) {
  return std::ranges::any_of(function.instructions,
                             [](const ptx::Instruction& i) { return i.opcode == ptx::Opcode::kExit; });
}

// Sizes after inlining, callees first.
class SizeEstimate {
 public:
  SizeEstimate(const ptx::Module& source, const CallGraph& calls, const std::vector<uint32_t>& functions)
      : source_(source), calls_(calls) {
    std::unordered_map<uint32_t, std::vector<uint32_t>> callers;
    std::vector<uint32_t> exiting;
    for (const uint32_t f : functions) {
      if (HasExit(source.functions[f])) exiting.push_back(f);
      for (const uint32_t callee : calls.callees(f)) {
        ++call_sites_[callee];
        callers[callee].push_back(f);
      }
    }
    while (!exiting.empty()) {
      const uint32_t f = exiting.back();
      exiting.pop_back();
      if (!exits_.insert(f).second) continue;
      exiting.insert(exiting.end(), callers[f].begin(), callers[f].end());
    }
  }

  bool IsInlined(uint32_t f) {
    if (calls_.recursive(f) || calls_.address_taken(f)) return false;
    return SizeOf(f) <= (call_sites_[f] == 1 || exits_.contains(f) ? kMaxInlinedOnce : kMaxInlinedInstructions);
  }

 private:
  uint64_t SizeOf(uint32_t f) {
    if (const auto known = sizes_.find(f); known != sizes_.end()) return known->second;
    sizes_[f] = kMaxInlinedOnce + 1;  // what a recursive call finds
    uint64_t size = source_.functions[f].instructions.size();
    for (const uint32_t callee : calls_.callees(f)) {
      if (size > kMaxInlinedOnce) break;
      if (IsInlined(callee)) size += SizeOf(callee);
    }
    return sizes_[f] = size;
  }

  const ptx::Module& source_;
  const CallGraph& calls_;
  std::unordered_set<uint32_t> exits_;  // end their thread, or call who does: only in a kernel can that be done
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
