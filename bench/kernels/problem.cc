#include "problem.h"

#include <fmt/format.h>

#include <algorithm>

namespace bench {

Memory::Memory(OpenCl* opencl, const void* data, size_t size) : bytes(size), opencl_(opencl) {
  CHECK_CU(cuMemAlloc_v2(&address, bytes));
  CHECK_CU(cuMemcpyHtoD_v2(address, data, bytes));
  if (opencl_ != nullptr) buffer = opencl_->CreateBuffer(data, bytes);
}

Memory::~Memory() {
  CHECK_CU(cuMemFree_v2(address));
  if (opencl_ != nullptr) opencl_->DestroyBuffer(buffer);
}

bool Problem::Near(double value, double expected, double tolerance) {
  return std::fabs(value - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}

std::string Problem::Difference(size_t index, double value, double expected) {
  return fmt::format("result {} is {}, native C++ says {}", index, value, expected);
}

}  // namespace bench
