#include "sharing/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace tutti::sharing {
namespace {

bool SameLetter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (SameLetter(a[i], b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view Nearest(std::string_view word, std::span<const std::string_view> words) {
  // A word of a hostile file may be long, and the distance is quadratic.
  if (word.size() > 100) return {};
  // An abbreviation: "gpuMem" is nearer to gpuMemory than to gpu.
  const auto begins = [&](std::string_view candidate) {
    return word.size() >= 3 && word.size() < candidate.size() && std::equal(word.begin(), word.end(), candidate.begin(), SameLetter);
  };
  if (const auto found = std::find_if(words.begin(), words.end(), begins); found != words.end()) return *found;
  std::string_view best;
  size_t best_distance = word.size() / 3 + 1;
  for (const std::string_view candidate : words) {
    const size_t distance = Distance(word, candidate);
    if (distance > best_distance || (distance == best_distance && !best.empty())) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string Suggestion(std::string_view word, std::span<const std::string_view> words) {
  const std::string_view near = Nearest(word, words);
  if (!near.empty()) return fmt::format("; did you mean {}?", near);
  return words.empty() ? "" : fmt::format("; there are: {}", fmt::join(words, ", "));
}

}  // namespace tutti::sharing
