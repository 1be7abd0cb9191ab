// What machine code names: the cubins' tables of symbols (reference: measured on what ptxas 13 makes; bit 4 of st_other
// marks managed memory).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

namespace tutti::image {

struct CubinSymbols {
  std::map<std::string, bool> variables;  // true: it is managed
  std::set<std::string> missing;  // functions that the driver adds, such as vprintf
};

// Of a cubin, or of all of those in fat binaries. What is damaged, or larger than `limit` when unpacked, has none.
CubinSymbols ReadCubinSymbols(std::span<const uint8_t> bytes, uint64_t limit);

}  // namespace tutti::image
