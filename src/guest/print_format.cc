#include "guest/print_format.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

namespace tutti::guest {
namespace {

constexpr size_t kFormatLimit = 16 << 10;
constexpr size_t kStringLimit = 16 << 10;
constexpr size_t kOutputLimit = 64 << 10;
constexpr int kWidthLimit = 4096;

class Arguments {
 public:
  Arguments(const GuestMemory& memory, uint64_t address) : memory_(memory), address_(address) {}

  template <typename T>
  T Next() {
    T value{};
    if (++wanted_ > kMostPrintArguments) return value;
    position_ = (position_ + sizeof(T) - 1) & ~(sizeof(T) - 1);
    memory_.Read(address_ + position_, &value, sizeof value);
    position_ += sizeof(T);
    return value;
  }
  uint32_t wanted() const { return wanted_; }

 private:
  const GuestMemory& memory_;
  const uint64_t address_;
  uint64_t position_ = 0;
  uint32_t wanted_ = 0;  // those that there are not, too
};

// One conversion specification, "%-08.3lld".
struct Conversion {
  std::string flags;
  std::optional<int> width;
  std::optional<int> precision;
  bool is_long = false;  // an integer argument of 8 bytes
  int narrow_bits = 0;   // h: 16, hh: 8
  char type = 0;

  std::string Spec(std::string_view length, char conversion) const {
    std::string spec = "%" + flags;
    if (width) spec += std::to_string(std::clamp(*width, 0, kWidthLimit));
    if (precision && *precision >= 0) spec += "." + std::to_string(std::min(*precision, kWidthLimit));
    spec += length;
    spec += conversion;
    return spec;
  }
};

int ReadNumber(std::string_view format, size_t* at) {
  int value = 0;
  for (; *at < format.size() && format[*at] >= '0' && format[*at] <= '9'; ++*at) {
    value = std::min(value * 10 + (format[*at] - '0'), kWidthLimit);
  }
  return value;
}

// `at` is just behind the '%'; afterwards behind the conversion. False at the end of the format.
bool ReadConversion(std::string_view format, size_t* at, Arguments& arguments, Conversion* out) {
  for (; *at < format.size() && std::strchr("-+ #0", format[*at]) != nullptr && format[*at] != '\0'; ++*at) {
    if (out->flags.find(format[*at]) == std::string::npos) out->flags += format[*at];
  }
  if (*at < format.size() && format[*at] == '*') {
    ++*at;
    int width = arguments.Next<int>();
    if (width < 0) {
      out->flags += '-';
      width = width < -kWidthLimit ? kWidthLimit : -width;
    }
    out->width = width;
  } else if (*at < format.size() && format[*at] >= '1' && format[*at] <= '9') {
    out->width = ReadNumber(format, at);
  }
  if (*at < format.size() && format[*at] == '.') {
    ++*at;
    if (*at < format.size() && format[*at] == '*') {
      ++*at;
      out->precision = arguments.Next<int>();
    } else {
      out->precision = ReadNumber(format, at);
    }
  }
  for (; *at < format.size(); ++*at) {
    const char c = format[*at];
    if (c == 'l' || c == 'j' || c == 'z' || c == 't' || c == 'L' || c == 'q') {
      out->is_long = true;
    } else if (c == 'h') {
      out->narrow_bits = out->narrow_bits == 16 ? 8 : 16;
    } else {
      out->type = c;
      ++*at;
      return true;
    }
  }
  return false;
}

template <typename T>
std::string Print(const std::string& spec, T value) {
  char text[2 * kWidthLimit];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int length = std::snprintf(text, sizeof text, spec.c_str(), value);
#pragma GCC diagnostic pop
  return {text, static_cast<size_t>(std::clamp<int>(length, 0, sizeof text - 1))};
}

std::string FormatSigned(const Conversion& conversion, Arguments& arguments) {
  long long value = conversion.is_long ? arguments.Next<long long>() : arguments.Next<int>();
  if (conversion.narrow_bits == 16) value = static_cast<int16_t>(value);
  if (conversion.narrow_bits == 8) value = static_cast<int8_t>(value);
  return Print(conversion.Spec("ll", conversion.type), value);
}

std::string FormatUnsigned(const Conversion& conversion, Arguments& arguments) {
  unsigned long long value = conversion.is_long ? arguments.Next<unsigned long long>() : arguments.Next<unsigned>();
  if (conversion.narrow_bits == 16) value = static_cast<uint16_t>(value);
  if (conversion.narrow_bits == 8) value = static_cast<uint8_t>(value);
  return Print(conversion.Spec("ll", conversion.type), value);
}

std::string FormatString(const GuestMemory& memory, const Conversion& conversion, Arguments& arguments) {
  const auto address = arguments.Next<uint64_t>();
  if (address == 0) return "(null)";
  const std::string value = ReadGuestString(memory, address, kStringLimit);
  if (conversion.width || conversion.precision) return Print(conversion.Spec("", 's'), value.c_str());
  return value;
}

std::string Format(const GuestMemory& memory, const Conversion& conversion, Arguments& arguments) {
  switch (conversion.type) {
    case '%': return "%";
    case 'd':
    case 'i': return FormatSigned(conversion, arguments);
    case 'u':
    case 'o':
    case 'x':
    case 'X': return FormatUnsigned(conversion, arguments);
    case 'c': return Print(conversion.Spec("", 'c'), arguments.Next<int>());
    case 's': return FormatString(memory, conversion, arguments);
    case 'p': return Print(conversion.Spec("", 'p'), reinterpret_cast<void*>(arguments.Next<uint64_t>()));
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A': return Print(conversion.Spec("", conversion.type), arguments.Next<double>());
    case 'n':  // takes its argument, writes nothing
      arguments.Next<uint64_t>();
      return "";
    default: return std::string("%") + conversion.type;
  }
}

}  // namespace

std::string ReadGuestString(const GuestMemory& memory, uint64_t address, size_t limit) {
  std::string text;
  // In pieces that end at multiples of their size, so that a string at the end of a range is read completely.
  constexpr uint64_t kPiece = 64;
  while (text.size() < limit) {
    char piece[kPiece];
    uint64_t bytes = kPiece - address % kPiece;
    if (!memory.Read(address, piece, bytes)) {
      bytes = 1;
      if (!memory.Read(address, piece, bytes)) break;
    }
    const size_t length = strnlen(piece, bytes);
    text.append(piece, length);
    if (length < bytes) break;
    address += bytes;
  }
  if (text.size() > limit) text.resize(limit);
  return text;
}

PrintedText FormatPrint(const GuestMemory& memory, uint64_t format_address, uint64_t arguments_address) {
  char first;
  if (!memory.Read(format_address, &first, 1)) return {.text = "", .arguments = -1};
  const std::string format = ReadGuestString(memory, format_address, kFormatLimit);
  Arguments arguments(memory, arguments_address);
  std::string text;
  for (size_t at = 0; at < format.size() && text.size() < kOutputLimit;) {
    const size_t percent = std::min(format.find('%', at), format.size());
    text.append(format, at, percent - at);
    if (percent == format.size()) break;
    at = percent + 1;
    Conversion conversion;
    const uint32_t before = arguments.wanted();
    if (!ReadConversion(format, &at, arguments, &conversion)) break;
    const std::string converted = Format(memory, conversion, arguments);
    const bool lacks_one = arguments.wanted() != before && arguments.wanted() > kMostPrintArguments;
    if (lacks_one)
      text.append(format, percent, at - percent);
    else
      text += converted;
  }
  return {.text = std::move(text),
          .arguments = static_cast<int32_t>(std::min(arguments.wanted(), kMostPrintArguments))};
}

}  // namespace tutti::guest
