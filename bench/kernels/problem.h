// One problem of the benchmark: kernels that run on our device and, from their OpenCL text, on PoCL; what a C++
// programmer would write instead; and how much it has to move and to compute. One family of problems is one file.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../driver.h"
#include "opencl.h"

namespace bench {

// Of the widest vectors of the processor that a file is compiled for.
#ifdef __AVX512F__
constexpr size_t kVectorBytes = 64;
#else
constexpr size_t kVectorBytes = 32;
#endif

// Texts of a family's kernels. No OpenCL text: PoCL cannot run it.
struct Source {
  const char* ptx = nullptr;
  const char* cl = nullptr;
};

struct Grid {
  unsigned x = 1, y = 1, block_x = 256, block_y = 1;
};

// An array on our device and, if there is an OpenCL, on its.
class Memory {
 public:
  Memory(OpenCl* opencl, const void* data, size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;

  CUdeviceptr address = 0;
  int buffer = -1;
  size_t bytes = 0;

 private:
  OpenCl* opencl_;
};

template <typename T>
class Array : public Memory {
 public:
  Array(OpenCl* opencl, std::vector<T> values)
      : Memory(opencl, values.data(), values.size() * sizeof(T)), host(std::move(values)) {}
  T* data() { return host.data(); }
  std::vector<T> host;  // what native code works on
};

// Where kernels run.
class Runner {
 public:
  struct Argument {
    const Memory* memory = nullptr;  // or plain data
    const void* data = nullptr;
    size_t bytes = 0;
  };
  virtual ~Runner() = default;
  virtual void Enqueue(const char* kernel, const Grid& grid, std::span<const Argument> arguments) = 0;
  virtual void Clear(const Memory& memory, uint32_t word) = 0;
  virtual void Finish() = 0;
  virtual bool is_opencl() const = 0;  // for the few problems whose kernels differ there

  template <typename... Arguments>
  void Launch(const char* kernel, const Grid& grid, const Arguments&... arguments) {
    const Argument list[] = {Pass(arguments)...};
    Enqueue(kernel, grid, list);
  }

 private:
  static Argument Pass(const Memory& memory) { return {&memory, nullptr, 0}; }
  template <typename T>
    requires std::is_arithmetic_v<T>
  static Argument Pass(const T& value) {
    return {nullptr, &value, sizeof value};
  }
};

// What a perfect machine has to do, for the limit: bytes to and from memory, and operations (an FMA is two).
struct Work {
  double bytes = 0, operations = 0, double_operations = 0;
};

class Problem {
 public:
  explicit Problem(Source source) : source(source) {}
  virtual ~Problem() = default;
  virtual void Kernels(Runner& on) = 0;
  virtual void Native() = 0;
  // C++ that gives up a freedom that Native() takes and the kernel has not: its atomics are atomics, its sums are f16.
  // False, and nothing is done: Native() takes none.
  virtual bool NativeOnItsTerms() { return false; }

  const Source source;
  Work work;

  // Compares results that `read` fetches with those of Native(). Empty: equal, within the tolerance.
  struct Result {
    const Memory* memory;
    std::function<std::string(const std::vector<char>& got)> compare;
  };
  std::vector<Result> results;

 protected:
  // `tolerance` is relative to the larger of the value and 1.
  template <typename T>
  void Returns(const Array<T>& array, double tolerance = 0) {
    results.push_back({&array, [&array, tolerance](const std::vector<char>& got) -> std::string {
                         const T* values = reinterpret_cast<const T*>(got.data());
                         for (size_t i = 0; i < array.host.size(); ++i) {
                           const double expected = static_cast<double>(array.host[i]),
                                        value = static_cast<double>(values[i]);
                           if (!Near(value, expected, tolerance)) return Difference(i, value, expected);
                         }
                         return {};
                       }});
  }

 private:
  static bool Near(double value, double expected, double tolerance);  // false for what is not a number
  static std::string Difference(size_t index, double value, double expected);
};

struct Entry {
  std::string name;
  std::function<std::unique_ptr<Problem>(OpenCl*)> make;
};
template <typename P>
Entry Named(const char* name) {
  return {name, [](OpenCl* opencl) { return std::make_unique<P>(opencl); }};
}

// The families.
std::vector<Entry> First();
std::vector<Entry> Streaming();
std::vector<Entry> Stencils();
std::vector<Entry> Collective();  // reductions, scans, sorts, histograms
std::vector<Entry> Matrices();
std::vector<Entry> Neural();
std::vector<Entry> Transforms();
std::vector<Entry> Irregular();
std::vector<Entry> Simulations();
std::vector<Entry> Texts();

}  // namespace bench
