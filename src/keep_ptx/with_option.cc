#include "keep_ptx/with_option.h"

#include <cstring>

namespace tutti::keep_ptx {
namespace {

// Line information costs no speed: the machine code is the same.
constexpr const char* kOption = "-lineinfo";
constexpr const char* kAlready[] = {"-lineinfo", "--generate-line-info", "-G", "-g", "--device-debug"};

bool Is(const char* option, const char* name) { return std::strcmp(option, name) == 0; }

bool Needed(const char* const* options, size_t count) {
  bool machine_code = false;
  for (size_t i = 0; i < count; ++i) {
    if (options[i] == nullptr) return false;
    for (const char* already : kAlready) {
      if (Is(options[i], already)) return false;
    }
    machine_code |= std::strstr(options[i], "sm_") != nullptr;
  }
  return machine_code;
}

}  // namespace

WithOption::WithOption(const char* const* options, size_t count) : options_(options), count_(count) {
  if (options == nullptr || count > kMostOptions || !Needed(options, count)) return;
  std::memcpy(longer_, options, count * sizeof *options);
  longer_[count] = kOption;
  longer_[count + 1] = nullptr;
  options_ = longer_;
  count_ = count + 1;
}

}  // namespace tutti::keep_ptx
