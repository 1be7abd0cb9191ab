// One file of golden/ is one test: PTX, a line "==== expected", and the scalar IR of its kernels, or the diagnostics.
// The file's name is the claim it makes. compiler_lower_test --bless writes the outcome into the files.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "base/testing/golden_file.h"
#include "compiler/lower/families.h"
#include "compiler/lower/llvm.h"
#include "compiler/lower/lower.h"
#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

// The functions and what calls through pointers may reach; without attributes and line numbers, which are tested
// elsewhere.
std::string Show(llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration()) out << function << '\n';
  }
  if (const llvm::NamedMDNode* rows = module.getNamedMetadata("tutti.functions")) {
    for (const llvm::MDNode* row : rows->operands()) {
      out << "table: " << llvm::mdconst::extract<llvm::ConstantInt>(row->getOperand(0))->getZExtValue() << " "
          << llvm::mdconst::extract<llvm::Function>(row->getOperand(1))->getName() << '\n';
    }
  }
  text = std::regex_replace(text,
                            std::regex(", !(tutti.loc|invariant.load) ![0-9]+|; Function Attrs:[^\n]*\n| #[0-9]+"), "");
  return std::regex_replace(text, std::regex(" *; preds = [^\n]*"), "");
}

std::string OutcomeOf(const std::string& text) {
  const auto module = ptx::Parse(text);
  if (!module) return module.error().text + "\n";
  const auto layout = ModuleLayout::Make(*module);
  if (!layout) return layout.error().text + "\n";
  std::string outcome;
  for (uint32_t f = 0; f < module->functions.size(); ++f) {
    if (!module->functions[f].is_entry) continue;
    llvm::LLVMContext context;
    LowerDiagnostics diagnostics;
    auto result = LowerKernel(context, *module, f, *layout, {}, diagnostics);
    outcome +=
        result ? Show(**result) : "error " + std::to_string(result.error().code) + "\n" + result.error().text + "\n";
  }
  return outcome;
}

class Golden : public testing::TestWithParam<golden::Path> {};

TEST_P(Golden, HasTheExpectedOutcome) { golden::ExpectOutcome(GetParam(), OutcomeOf); }

INSTANTIATE_TEST_SUITE_P(Lower, Golden, testing::ValuesIn(golden::Files(TUTTI_GOLDEN_DIR)), golden::NameOf);

// The opcodes of all lines "line 8, k: alloca.u64: this instruction is not supported".
std::set<std::string> RefusedInGoldens() {
  std::set<std::string> opcodes;
  const std::regex line("line [0-9]+, k: ([a-z0-9]+)[^ ]*: this instruction is not supported");
  for (const golden::Path& path : golden::Files(TUTTI_GOLDEN_DIR)) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (std::sregex_iterator found(text.begin(), text.end(), line), end; found != end; ++found) {
      opcodes.insert((*found)[1]);
    }
  }
  return opcodes;
}

TEST(Opcodes, EachThatNothingLowersIsRefusedByItsNameInAGolden) {
  const std::set<std::string> refused = RefusedInGoldens();
  for (const ptx::Opcode opcode : ptx::kOpcodes) {
    const std::string name(ptx::NameOf(opcode));
    EXPECT_EQ(lowering::FamilyOf(opcode) == nullptr, refused.contains(name)) << name;
  }
}

}  // namespace
}  // namespace tutti::compiler

int main(int count, char** arguments) { return tutti::golden::Run(count, arguments); }
