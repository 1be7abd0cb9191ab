// printf as kernels call it: a format and a buffer of arguments packed at their natural alignment, both in guest
// memory.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::compiler {

// The text. Trusts both addresses.
std::string FormatGuestPrint(uint64_t format, uint64_t arguments);

}  // namespace tutti::compiler
