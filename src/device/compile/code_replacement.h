// Quick code, made in tens of milliseconds so that a first launch waits for no longer, and the optimised code that
// comes in its place.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace tutti::guest {
struct KernelDescriptor;
}

namespace tutti::device {

struct LoadedKernel;
using LoadedCode = std::shared_ptr<const LoadedKernel>;

// Whether blocks of one launch may run either code: arguments that suit the one suit the other.
bool MayReplace(const guest::KernelDescriptor& code, const guest::KernelDescriptor& other);

// Who holds quick code, and takes what comes in its place.
class CodeTaker {
 public:
  virtual ~CodeTaker() = default;
  // `code` replaces `quick`, and may (MayReplace). Null: it is there no more, but whoever loads
  // the kernel again gets it.
  virtual void TakeCode(const LoadedCode& quick, const LoadedCode& code) = 0;
};

// What is to come in the place of one piece of quick code, which each call names. Perhaps nothing ever does. Holds
// neither: code is in memory as long as somebody uses it. Thread-safe.
class CodeReplacement {
 public:
  // Tells the taker once it has come: at once, on the calling thread, if that is so. Who awaits it twice is told once.
  // Call it when the taker would find the code that it holds.
  void Await(const LoadedCode& quick, const std::weak_ptr<CodeTaker>& taker);
  // It has come; once.
  void Arrive(const LoadedCode& quick, const LoadedCode& code);

 private:
  std::mutex mutex_;  // no taker is called with it
  bool arrived_ = false;
  std::weak_ptr<const LoadedKernel> code_;
  std::vector<std::weak_ptr<CodeTaker>> takers_;
};

}  // namespace tutti::device
