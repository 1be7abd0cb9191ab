// Kernels through OpenCL (PoCL on the CPU), if there is an OpenCL implementation when the benchmarks are built
// and one with a CPU device when they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bench {

class OpenCl {
 public:
  // Null, and `why` set, if there is none.
  static std::unique_ptr<OpenCl> Open(std::string* why);
  virtual ~OpenCl() = default;

  struct Argument {  // a buffer by index, or `bytes` of plain data
    int buffer = -1;
    const void* data = nullptr;
    size_t bytes = 0;
  };
  virtual int CreateBuffer(const void* data, size_t bytes) = 0;
  virtual void Read(int buffer, void* data, size_t bytes) = 0;
  virtual void DestroyBuffer(int buffer) = 0;
  virtual void Clear(int buffer, uint32_t word, size_t bytes) = 0;
  // `source` is compiled when it is seen first. Names of kernels are unique over all sources.
  virtual void Run(const char* source, const std::string& kernel, std::span<const Argument> arguments, size_t global_x,
                   size_t global_y, size_t local_x, size_t local_y) = 0;
  virtual void Finish() = 0;
};

}  // namespace bench
