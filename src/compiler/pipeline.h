// The compiler as a whole: bytes of an image in, a module's index or a kernel's shared object out.
//
//   image -> PTX text -> ptx::Module -> scalar IR (lower/) -> warp IR (widen/) -> object (link/) -> shared object
//
// Errors carry the CUresult that the client is to see and, as text, everything a person needs: for PTX line, column and
// a caret. Not thread-safe; any number of instances may run on different threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/link/host_target.h"
#include "compiler/lower/module_layout.h"
#include "compiler/phase_times.h"
#include "module/module_index.h"
#include "ptx/ast.h"

namespace tutti::compiler {

// How far to go; each stage's product is text for people, but for the last two.
enum class Stage : uint8_t { kScalarIr, kWideIr, kOptimizedIr, kAssembly, kObject, kSharedObject };

struct CompileOptions {
  std::array<uint32_t, 3> block = {0, 0, 0};  // threads per block; 0,0,0: code for any shape
  uint32_t optimize = 2;  // 0 .. 3
  // code that is there soon, not fast (compiler/threads); fails with NOT_SUPPORTED for kernels that it is not for
  bool quick = false;
  bool quick_for_all = false;  // also where optimised code is there as soon, and with loops without bounds; for tests
  bool quick_renews_all = false;  // also blocks that are sure to end soon can begin anew; for tests
  // check addresses against the client's window; off for the bench `fence` alone
  bool check_addresses = true;
  bool lane_after_lane = false;  // each loop that may run so does (WidenOptions); for tests
  bool turns_end = true;  // at barriers (WidenOptions); off for tests
  bool apart_copies = true;  // for lanes that meet apart (WidenOptions); off for tests
  HostTarget target;
  Stage until = Stage::kSharedObject;
};

// One image, parsed. Kernels are compiled from it one by one.
class ImageCompiler {
 public:
  // Of PTX text or of a fatbin in any compression; the bytes are not needed afterwards. Fails with
  // CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU (no PTX in it), CUDA_ERROR_INVALID_PTX or
  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION. `capability` says which of several texts (image/ptx_selection.h). `times` may
  // be null.
  static Result<std::unique_ptr<ImageCompiler>> Open(std::span<const uint8_t> image, uint32_t capability = 0,
                                                     PhaseTimes* times = nullptr);
  ~ImageCompiler();

  const module::ModuleIndex& index() const { return layout_->index(); }
  const ptx::Module& module() const { return *module_; }

  // Fails with CUDA_ERROR_NOT_FOUND, or for a kernel that cannot be compiled with CUDA_ERROR_INVALID_PTX or
  // CUDA_ERROR_NOT_SUPPORTED and the reasons.
  // Quick code is for being asked for first: the optimised code after it takes its scalar IR as it is.
  Result<std::vector<uint8_t>> Compile(const std::string& kernel, const CompileOptions& options,
                                       PhaseTimes* times = nullptr);

 private:
  struct Lowered;

  ImageCompiler(std::unique_ptr<ptx::Module> module, std::unique_ptr<ModuleLayout> layout);
  Result<std::unique_ptr<Lowered>> Lower(const std::string& kernel, const CompileOptions& options) const;

  std::unique_ptr<ptx::Module> module_;
  std::unique_ptr<ModuleLayout> layout_;  // refers to *module_
  std::unique_ptr<Lowered> lowered_;  // what quick code was asked for last, or null
};

}  // namespace tutti::compiler
