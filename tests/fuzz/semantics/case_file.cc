#include "case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <regex>

namespace semantics {
namespace {

std::string Words(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    uint32_t word;
    std::memcpy(&word, &bytes[i], 4);
    text += fmt::format(" {:x}", word);
  }
  return text;
}

// The places of a buffer that the text names are few: they move to its beginning.
std::string Gather(const std::string& pattern, const std::string& buffer, std::vector<uint8_t>& bytes,
                   uint32_t threads) {
  const std::regex place("(%" + buffer + R"(\d+\+)(\d+)\*T)");
  std::map<uint32_t, uint32_t> moved;  // entries of 16 bytes a thread
  std::string text;
  auto from = pattern.begin();
  for (std::sregex_iterator i(pattern.begin(), pattern.end(), place), end; i != end; ++i) {
    const auto old = static_cast<uint32_t>(std::stoul((*i)[2]));
    const uint32_t entry = moved.emplace(old / 16, static_cast<uint32_t>(moved.size())).first->second;
    text.append(from, (*i)[2].first).append(std::to_string(16 * entry + old % 16));
    from = (*i)[2].second;
  }
  std::vector<uint8_t> used(std::max<size_t>(moved.size(), 1) * 16 * threads);
  for (const auto& [old, entry] : moved)
    std::memcpy(&used[size_t{entry} * 16 * threads], &bytes[size_t{old} * 16 * threads], size_t{16} * threads);
  bytes = std::move(used);
  return text.append(from, pattern.end());
}

}  // namespace

void WriteCase(const std::string& path, const Program& program, std::vector<uint8_t> inputs,
               std::vector<uint8_t> output, uint32_t threads) {
  const std::string text =
      PlaceFor(Gather(Gather(program.Pattern(), "in", inputs, threads), "out", output, threads), threads);
  const std::vector<uint8_t> before(output.size(), kBefore);
  std::ofstream file(path);
  file << fmt::format("// Seed {}: what the interpreter makes of it.\n// kernel: k\n// block: {} 1 1\n", program.seed,
                      threads);
  file << "// buffer in: b32 =" << Words(inputs) << "\n// buffer out: b32 =" << Words(before) << "\n";
  file << fmt::format("// buffer scratch: b32 x {}\n// argument: in\n// argument: out\n// argument: scratch\n",
                      threads * kScratchBytes / 4);
  uint64_t given[2];
  for (int i = 0; i < 16; ++i) reinterpret_cast<uint8_t*>(given)[i] = static_cast<uint8_t>(0x71 + 19 * i);
  file << fmt::format("// argument: u64 {}\n// argument: u64 {}\n", given[0], given[1]);
  file << "// expect out: b32 =" << Words(output) << "\n" << text;
}

}  // namespace semantics
