// Settings for compiling and caching code.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::device {

// For clients that would wait long while others occupy all compilers (compiler_pool.h).
inline constexpr uint32_t kCompilersInAddition = 8;

struct CodeSettings {
  // More than the 120 s of processor time that a worker allows itself: on a busy machine it has few of each second.
  static constexpr uint64_t kMostSeconds = 300;

  // The cache's folder. Empty: no cache, each server compiles everything anew.
  std::string cache_folder;
  uint64_t cache_bytes = 4ull << 30;
  std::string compiler;  // path of tutti-compiler, or of tutti-fence
  uint32_t max_compilers = 1;
  uint32_t capability = 0;  // of the devices, 80 for 8.0: selects among a program's PTX texts; 0: the newest
  uint64_t request_limit_ns = kMostSeconds * 1'000'000'000;
  // A compilation that took longer than this goes on when its client has gone (compiler_pool.h).
  uint64_t finish_after_ns = 2'000'000'000;
  // First launches run quick code of kernels that are suited, while the optimised one is compiled. Off for tests.
  bool quick_code = true;
  // After which one that waits in the background has a place, however many clients wait for one.
  uint64_t background_patience_ns = 1'000'000'000;
  uint64_t idle_limit_ns = 10'000'000'000;  // after which an idle compiler ends, freeing LLVM's memory

  // TUTTI_CACHE_DIR, else $XDG_CACHE_HOME/tutti, else ~/.cache/tutti; /var/cache/tutti for root. TUTTI_CACHE_BYTES.
  // TUTTI_COMPILER, else tutti-compiler beside this program. As many compilers as there are processors.
  // TUTTI_COMPILE_SECONDS: of one request, at most kMostSeconds. TUTTI_QUICK_CODE: 0: none.
  static CodeSettings FromEnvironment();
  // The same for what is fenced: TUTTI_FENCE, else tutti-fence beside this program.
  static CodeSettings OfFences();
};

// Upper bound on the number of compilers at any time, those being replaced included. In the background there may be as
// many in addition as for clients that wait (background_compiles.h).
inline size_t MostCompilers(const CodeSettings& settings) {
  return 2 * (size_t{settings.max_compilers} + kCompilersInAddition) + kCompilersInAddition;
}

}  // namespace tutti::device
