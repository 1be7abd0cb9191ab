#include "case_file.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>

namespace semantics {
namespace {

std::string Words(const std::vector<uint8_t>& bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i + 4 <= count; i += 4) {
    uint32_t word;
    std::memcpy(&word, &bytes[i], 4);
    text += fmt::format(" {:x}", word);
  }
  return text;
}

}  // namespace

void WriteCase(const std::string& path, const Program& program, const std::vector<uint8_t>& inputs, const std::vector<uint8_t>& output, uint32_t threads) {
  // What no statement stores keeps the pattern that the runner fills the output with.
  std::vector<uint8_t> before(size_t{threads} * program.output_bytes, 0x5a);
  std::ofstream file(path);
  file << fmt::format("// Seed {}: what the interpreter makes of it.\n// kernel: k\n// block: {} 1 1\n", program.seed, threads);
  file << "// buffer in: b32 =" << Words(inputs, size_t{threads} * kInputBytes) << "\n// buffer out: b32 =" << Words(before, before.size()) << "\n";
  file << fmt::format("// buffer scratch: b32 x {}\n// argument: in\n// argument: out\n// argument: scratch\n", threads * kScratchBytes / 4);
  uint64_t given[2];
  for (int i = 0; i < 16; ++i) reinterpret_cast<uint8_t*>(given)[i] = static_cast<uint8_t>(0x71 + 19 * i);
  file << fmt::format("// argument: u64 {}\n// argument: u64 {}\n", given[0], given[1]);
  file << "// expect out: b32 =" << Words(output, before.size()) << "\n" << program.Text();
}

}  // namespace semantics
