// What fences the kernels of tests: compilers that keep nothing on disk.
#pragma once

#include <memory>

#include "device/compile/code_settings.h"
#include "device/compile/compiler_host.h"
#include "device/compile/fence_store.h"
#include "os/spawner.h"

namespace tutti::device::gpu {

inline CodeSettings CodeSettingsOfTests() { return {.cache_folder = "", .compiler = TUTTI_FENCE, .max_compilers = 2}; }

// The second program of a spawner.
inline os::Spawner::Program CompilerOfTests() { return CompilerHost::ProgramOf(CodeSettingsOfTests()); }

inline std::shared_ptr<FenceStore> FencesOf(const std::shared_ptr<os::Spawner>& spawner) {
  const CodeSettings settings = CodeSettingsOfTests();
  return std::make_shared<FenceStore>(settings, std::make_shared<CompilerHost>(settings.compiler, spawner, 1));
}

}  // namespace tutti::device::gpu
