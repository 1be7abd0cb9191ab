// A module as a client would have it, in this process: its variables in memory of its own, its kernels compiled on
// first use.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/pipeline.h"
#include "compiler/testing/loaded_kernel.h"
#include "compiler/testing/run_grid.h"

namespace tutti::compiler {

class TestModule {
 public:
  // Of PTX text or any other image. Its variables lie in `place`, which outlives it; in memory of its own without one.
  static Result<TestModule> Open(const std::string& image, CompileOptions options = {.target = HostTarget::Detect()},
                                 std::span<uint8_t> place = {});
  static Result<TestModule> OpenFile(const std::string& path,
                                     CompileOptions options = {.target = HostTarget::Detect()});

  // Runs the kernel, compiled for the block shape of `launch`. `launch.module_base` is set here.
  Result<GridResult> Run(const std::string& kernel, GridLaunch launch);
  // The kernel, compiled for a block shape; for measurements.
  Result<const LoadedKernel*> Kernel(const std::string& kernel, const std::array<uint32_t, 3>& block);

  // Host address of a variable; null if there is none.
  void* Variable(const std::string& name) const;
  const module::ModuleIndex& index() const { return compiler_->index(); }

 private:
  TestModule(std::unique_ptr<ImageCompiler> compiler, CompileOptions options, std::span<uint8_t> place);

  std::unique_ptr<ImageCompiler> compiler_;
  CompileOptions options_;
  std::vector<uint8_t> segment_;  // if it has no place
  uint8_t* segment_base_ = nullptr;  // in segment_ or the place, aligned
  std::map<std::pair<std::string, std::array<uint32_t, 3>>, LoadedKernel> kernels_;
};

}  // namespace tutti::compiler
