#include "compiler/testing/guest_print.h"

#include <cstdio>
#include <cstring>
#include <string_view>

namespace tutti::compiler {
namespace {

class PackedArguments {
 public:
  explicit PackedArguments(uint64_t address) : next_(address) {}
  template <typename T>
  T Take() {
    next_ = (next_ + alignof(T) - 1) / alignof(T) * alignof(T);
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(next_), sizeof value);
    next_ += sizeof value;
    return value;
  }

 private:
  uint64_t next_;
};

template <typename T>
std::string Print(const std::string& specifier, T value) {
  char text[512];
  std::snprintf(text, sizeof text, specifier.c_str(), value);
  return text;
}

// One conversion: `specifier` is its text with all flags, from '%' to the letter.
std::string Convert(const std::string& specifier, PackedArguments& arguments) {
  const bool is_long = specifier.find('l') != std::string::npos || specifier.find('j') != std::string::npos ||
                       specifier.find('z') != std::string::npos;
  switch (specifier.back()) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o': return is_long ? Print(specifier, arguments.Take<long long>()) : Print(specifier, arguments.Take<int>());
    case 'c': return Print(specifier, arguments.Take<int>());
    case 'p': return Print(specifier, arguments.Take<void*>());
    case 's': return Print(specifier, arguments.Take<const char*>());
    default: return Print(specifier, arguments.Take<double>());
  }
}

}  // namespace

std::string FormatGuestPrint(uint64_t format, uint64_t arguments) {
  PackedArguments packed(arguments);
  std::string_view rest(reinterpret_cast<const char*>(format));
  std::string text;
  while (!rest.empty()) {
    if (rest[0] != '%') {
      text += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    if (rest.starts_with("%%")) {
      text += '%';
      rest.remove_prefix(2);
      continue;
    }
    const size_t end = rest.find_first_of("diuxXocpsfFeEgGaA", 1);
    if (end == rest.npos) return text;
    text += Convert(std::string(rest.substr(0, end + 1)), packed);
    rest.remove_prefix(end + 1);
  }
  return text;
}

}  // namespace tutti::compiler
