// What machine code names: the cubins' tables of symbols (reference: measured on what ptxas 13 makes; bit 4 of st_other
// marks managed memory).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

namespace tutti::image {

struct CubinSymbols {
  std::map<std::string, bool> variables;  // true: it is managed
  std::set<std::string> missing;  // functions that the driver adds, such as vprintf
  // What a device's variables take, named or not: of each unit of translation the most that a cubin of it takes. At
  // most the largest number.
  uint64_t variable_bytes = 0;
  uint32_t units = 1;
  bool is_unread = false;  // code that a device of that capability would run could not be read
};

// Of a cubin, of all of those in fat binaries, or of a list of both (image/image_list.h), for a device of that
// capability (90 for 9.0; 0: any). What is damaged, or larger than `limit` when unpacked, has none. Names are read as
// far as they are no longer than a compiler's, and take no more memory than so much.
inline constexpr size_t kMostSymbolName = 64 << 10, kMostSymbolNames = 64 << 20;  // bytes
CubinSymbols ReadCubinSymbols(std::span<const uint8_t> bytes, uint64_t limit, uint32_t capability = 0);

}  // namespace tutti::image
