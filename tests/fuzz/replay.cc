// A main for the fuzzers without libFuzzer: every file of the kept corpus as it is, then ROUNDS mutations of them,
// always the same ones. So every preset and every compiler runs them, in a second.
//
//   NAME CORPUS ROUNDS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

// In memory of exactly this size, so that a sanitizer notices reads beyond it.
void Try(const Bytes& bytes) {
  const auto exact = std::make_unique<uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), bytes.size());
}

void Change(Bytes& bytes, const std::vector<Bytes>& corpus, std::mt19937& random) {
  for (uint32_t i = 0; i <= random() % 4; ++i) {
    const size_t at = bytes.empty() ? 0 : random() % bytes.size();
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const Bytes& other = corpus[random() % corpus.size()];
    switch (random() % 6) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<uint8_t>(random());
        break;
      case 1:
        if (!bytes.empty()) bytes[at] ^= static_cast<uint8_t>(1u << random() % 8);
        break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(place, static_cast<uint8_t>(random())); break;
      case 4:
        if (!bytes.empty()) bytes.erase(place);
        break;
      default:
        if (!other.empty()) {
          const size_t from = random() % other.size(), count = std::min<size_t>(1 + random() % 64, other.size() - from);
          bytes.insert(place, other.begin() + static_cast<std::ptrdiff_t>(from),
                       other.begin() + static_cast<std::ptrdiff_t>(from + count));
        }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s CORPUS ROUNDS\n", argv[0]), 3;
  std::vector<Bytes> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) return std::fprintf(stderr, "%s holds nothing\n", argv[1]), 3;
  for (const Bytes& bytes : corpus) Try(bytes);
  std::mt19937 random(20250);
  for (int round = 0; round < std::atoi(argv[2]); ++round) {
    Bytes bytes = corpus[random() % corpus.size()];
    Change(bytes, corpus, random);
    Try(bytes);
  }
  return 0;
}
