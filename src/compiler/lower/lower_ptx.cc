// A developer's tool: lower_ptx FILE.ptx [KERNEL] [-O0] prints the scalar IR of a kernel, or of all kernels of the
// file, and what could not be lowered. `lower_ptx -q FILE...` prints only how many kernels of each file can be lowered.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/lower/llvm.h"
#include "compiler/lower/lower.h"
#include "ptx/parser.h"

namespace {

using namespace tutti;

struct Settings {
  bool quiet = false;
  bool optimize = true;
  std::string kernel;
};

// Number of kernels that failed.
int LowerFile(const std::string& path, const Settings& settings) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  auto module = ptx::Parse(text);
  if (!module) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), module.error().text.c_str());
    return 1;
  }
  auto layout = compiler::ModuleLayout::Make(*module);
  if (!layout) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), layout.error().text.c_str());
    return 1;
  }
  int failed = 0, lowered = 0;
  for (uint32_t f = 0; f < module->functions.size(); ++f) {
    const ptx::Function& function = module->functions[f];
    if (!function.is_entry || (!settings.kernel.empty() && function.name != settings.kernel)) continue;
    llvm::LLVMContext context;
    compiler::LowerDiagnostics diagnostics;
    compiler::LowerOptions options;
    options.optimize = settings.optimize;
    auto result = compiler::LowerKernel(context, *module, f, *layout, options, diagnostics);
    std::string broken;
    llvm::raw_string_ostream out(broken);
    if (!result || llvm::verifyModule(**result, &out)) {
      ++failed;
      std::fprintf(stderr, "%s: %s: %s\n", path.c_str(), function.name.c_str(),
                   result ? broken.c_str() : result.error().text.c_str());
      continue;
    }
    ++lowered;
    if (!settings.quiet) (*result)->print(llvm::outs(), nullptr);
  }
  if (settings.quiet) std::printf("%s: %d kernels lowered, %d not\n", path.c_str(), lowered, failed);
  return failed;
}

}  // namespace

int main(int count, char** arguments) {
  Settings settings;
  std::vector<std::string> files;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "-q") {
      settings.quiet = true;
    } else if (argument == "-O0") {
      settings.optimize = false;
    } else if (argument.ends_with(".ptx")) {
      files.push_back(argument);
    } else {
      settings.kernel = argument;
    }
  }
  if (files.empty()) std::fprintf(stderr, "usage: lower_ptx [-q] [-O0] FILE.ptx... [KERNEL]\n");
  int failed = 0;
  for (const std::string& file : files) failed += LowerFile(file, settings);
  return files.empty() || failed != 0 ? 1 : 0;
}
