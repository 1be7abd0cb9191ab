#include "libraries/fft/kernel_table.h"

#include <map>
#include <memory>
#include <mutex>

DEVICE_CODE(fft_f32);
DEVICE_CODE(fft_f64);

namespace tutti::fft {
namespace {

struct Named {
  Named(libraries::DeviceCode* code, const std::string& text) : name(text), kernel(code, name.c_str()) {}
  const std::string name;
  libraries::Kernel kernel;  // keeps the name by address
};

struct Code {
  explicit Code(const char* ptx) : code(ptx) {}
  libraries::DeviceCode code;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Named>> kernels;
};

}  // namespace

libraries::Kernel& KernelOf(bool is_double, const std::string& name) {
  // Never destroyed: other threads may launch while the process ends.
  static Code& single_precision = *new Code(tutti_device_code_fft_f32);
  static Code& double_precision = *new Code(tutti_device_code_fft_f64);
  Code& code = is_double ? double_precision : single_precision;
  const std::lock_guard lock(code.mutex);
  auto& named = code.kernels[name];
  if (named == nullptr) named = std::make_unique<Named>(&code.code, name);
  return named->kernel;
}

}  // namespace tutti::fft
