#include "base/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace tutti {
namespace {

constexpr size_t kLongestWord = 128;
constexpr size_t kShortestAbbreviation = 3;

bool SameLetter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Optimal string alignment distance; keeps the last three rows of the table.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (SameLetter(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && SameLetter(a[i - 1], b[j - 2]) && SameLetter(a[i - 2], b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view Nearest(std::string_view word, std::span<const std::string_view> words) {
  if (word.empty() || word.size() > kLongestWord) return {};
  // "gpuMem" is nearer to gpuMemory than to gpu.
  const auto begins = [&](std::string_view candidate) {
    return word.size() >= kShortestAbbreviation && word.size() < candidate.size() &&
           std::ranges::equal(word, candidate.substr(0, word.size()), SameLetter);
  };
  if (const auto found = std::ranges::find_if(words, begins); found != words.end()) return *found;
  std::string_view nearest;
  size_t least = word.size() / 3 + 2;
  for (const std::string_view candidate : words) {
    if (candidate.size() > kLongestWord) continue;
    const size_t distance = Distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string Nearest(std::string_view word, const std::vector<std::string>& words) {
  return std::string(Nearest(word, std::vector<std::string_view>(words.begin(), words.end())));
}

std::string Suggestion(std::string_view word, std::span<const std::string_view> words) {
  const std::string_view near = Nearest(word, words);
  if (!near.empty()) return fmt::format("; did you mean {}?", near);
  return words.empty() ? "" : fmt::format("; there are: {}", fmt::join(words, ", "));
}

}  // namespace tutti
