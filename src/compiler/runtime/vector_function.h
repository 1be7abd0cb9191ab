// For tests: calls functions of the guest runtime as a kernel would, compiled for a chosen processor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/link/host_target.h"
#include "os/fd.h"

namespace tutti::compiler {

// One runtime function over vectors. T is float or double.
class VectorFunction {
 public:
  // `name` as in functions.def, `type` "float" or "double".
  static Result<VectorFunction> Compile(const std::string& name, const std::string& type, uint32_t arguments, const HostTarget& target);

  // result[i] = f(a[i], b[i], c[i]) for `count` elements (a multiple of 32); unused arguments may be null.
  template <typename T>
  void Apply(size_t count, T* result, const T* a, const T* b = nullptr, const T* c = nullptr) const {
    for (size_t i = 0; i < count; i += 32) apply_(result + i, a + i, b == nullptr ? a : b + i, c == nullptr ? a : c + i);
  }

 private:
  using Applied = void (*)(void*, const void*, const void*, const void*);
  std::shared_ptr<os::Fd> file_;  // kept open: its number is the library's path, by which dlopen tells libraries apart
  std::shared_ptr<void> library_;
  Applied apply_ = nullptr;
};

}  // namespace tutti::compiler
