// Tests of widening: one kernel as LLVM IR text, run both ways. As warps, through everything that compiles a kernel
// from there on; and thread by thread, as the scalar code it was written as, which is the definition of right.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "compiler/link/host_target.h"
#include "compiler/testing/loaded_kernel.h"
#include "compiler/testing/run_grid.h"

namespace llvm {
class Module;
}

namespace tutti::compiler {

struct TestTarget {
  HostTarget target = HostTarget::Detect();
  uint32_t block[3] = {0, 0, 0};
  bool check_addresses = true;
  uint32_t optimize = 2;
  bool lane_after_lane = false;  // WidenOptions
};

// A kernel of this body, with what it may call declared. Parameters: %p0, %p1, %p2 (i64) and %n (i32), of 28 bytes.
std::string KernelText(const std::string& body, uint32_t static_shared_bytes = 0);

// A part of the wide module where lanes take turns.
inline constexpr const char* kTurns = "@tutti_turn(";

// The wide module after OptimizeWide, as text. For tests that look at the code.
Result<std::string> WidenText(const std::string& ir, const TestTarget& target);
Result<LoadedKernel> BuildWarps(const std::string& ir, const TestTarget& target);

// The scalar code, one thread after the other. No barriers, no warp operations, no shared memory.
class ScalarKernel {
 public:
  static Result<ScalarKernel> Build(const std::string& ir);
  ScalarKernel(ScalarKernel&&) noexcept;
  ~ScalarKernel();

  void Run(const GridLaunch& launch);

 private:
  struct Engine;
  explicit ScalarKernel(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace tutti::compiler
