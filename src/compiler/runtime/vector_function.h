// For tests: calls functions of the guest runtime as a kernel would, compiled for a chosen processor.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/link/host_target.h"
#include "os/fd.h"

namespace tutti::compiler {

class VectorFunction {
 public:
  // `name` as the runtime exports it. Types are LLVM's names of one lane's type; several results are a struct.
  static Result<VectorFunction> Compile(const std::string& name, const std::vector<std::string>& results,
                                        const std::vector<std::string>& arguments, const HostTarget& target);

  // One call; each pointer is to 32 values.
  void Call(const std::vector<void*>& results, const std::vector<const void*>& arguments) const {
    apply_(results.data(), arguments.data());
  }
  // result[i] = f(a[i], ...) for `count` elements (a multiple of 32) of a function with one result.
  template <typename T>
  void Apply(size_t count, T* result, std::initializer_list<const T*> arguments) const {
    for (size_t i = 0; i < count; i += 32) {
      std::vector<const void*> pointers;
      for (const T* argument : arguments) pointers.push_back(argument + i);
      Call({result + i}, pointers);
    }
  }

 private:
  using Applied = void (*)(void* const*, const void* const*);
  std::shared_ptr<os::Fd> file_;  // kept open: its number is the library's path, by which dlopen tells libraries apart
  std::shared_ptr<void> library_;
  Applied apply_ = nullptr;
};

}  // namespace tutti::compiler
