// Search of a text, and alignment of pairs of texts.
#include "problem.h"
#include "problems.h"

EMBED_TEXT(text_ptx, "kernels/text.ptx");
EMBED_TEXT(text_cl, "kernels/text.cl");

namespace bench {
namespace {

using Letters = std::vector<unsigned char>;

Letters Random(uint32_t count, uint32_t salt) {
  Letters letters(count);
  for (uint32_t i = 0; i < count; ++i) letters[i] = static_cast<unsigned char>('a' + example::Hash(i + salt) % 4);
  return letters;
}

class StringSearch final : public Problem {
 public:
  explicit StringSearch(OpenCl* opencl)
      : Problem({text_ptx, text_cl}),
        text_(opencl, Random(kCount + kLength, 0)),
        word_(opencl, Random(kLength, 77)),
        count_(opencl, std::vector<uint32_t>(1)) {
    work = {.bytes = double{kCount}};
    Returns(count_);
  }
  void Kernels(Runner& on) override {
    on.Clear(count_, 0);
    on.Launch("string_search", {.x = kCount / 256}, text_, word_, count_, kLength);
  }
  void Native() override {
    const unsigned char *text = text_.data(), *word = word_.data();
    uint32_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (uint32_t start = 0; start < kCount; start += kPiece) {
      unsigned char found[kPiece];
      for (uint32_t i = 0; i < kPiece; ++i) found[i] = 1;
      for (uint32_t j = 0; j < kLength; ++j) {
        const unsigned char letter = word[j];
        const unsigned char* at = text + start + j;
#pragma omp simd
        for (uint32_t i = 0; i < kPiece; ++i) found[i] &= at[i] == letter;
      }
      for (uint32_t i = 0; i < kPiece; ++i) count += found[i];
    }
    count_.host[0] = count;
  }

 private:
  static constexpr uint32_t kCount = 1 << 22, kLength = 8, kPiece = 1024;
  Array<unsigned char> text_, word_;
  Array<uint32_t> count_;
};

class SmithWaterman final : public Problem {
 public:
  explicit SmithWaterman(OpenCl* opencl)
      : Problem({text_ptx, text_cl}),
        first_(opencl, Random(kPairs * kLength, 0)),
        second_(opencl, Random(kPairs * kLength, 99)),
        scores_(opencl, std::vector<int>(kPairs)) {
    work = {.operations = 2.0 * 9 * kPairs * kLength * kLength};  // an integer operation takes the place of an FMA
    Returns(scores_);
  }
  void Kernels(Runner& on) override {
    on.Launch("smith_waterman", {.x = kPairs, .block_x = kLength}, first_, second_, scores_);
  }
  // Diagonal by diagonal too: the second text is reversed, so that a diagonal compares two pieces in order.
  void Native() override {
#pragma omp parallel for schedule(static)
    for (uint32_t pair = 0; pair < kPairs; ++pair) {
      int first[kLength], reversed[kLength], diagonals[3][kLength + 1] = {}, bests[kLength] = {};
      for (uint32_t i = 0; i < kLength; ++i) {
        first[i] = first_.host[pair * kLength + i];
        reversed[kLength - 1 - i] = second_.host[pair * kLength + i];
      }
      int *before = diagonals[0], *last = diagonals[1], *now = diagonals[2];
      for (int step = 0; step < 2 * kLength - 1; ++step) {
        const int begin = std::max(0, step - kLength + 1), end = std::min(step, kLength - 1) + 1;
        const int* letters = reversed + (kLength - 1 - step + begin);
#pragma omp simd
        for (int t = begin; t < end; ++t) {
          int score = before[t] + (letters[t - begin] == first[t] ? 3 : -2);
          score = std::max(score, std::max(last[t], last[t + 1]) - 2);
          score = std::max(score, 0);
          bests[t] = std::max(bests[t], score);
          now[t + 1] = score;
        }
        if (begin > 0) now[begin] = 0;
        int* oldest = before;
        before = last, last = now, now = oldest;
      }
      int best = 0;
      for (const int score : bests) best = std::max(best, score);
      scores_.host[pair] = best;
    }
  }

 private:
  static constexpr int kLength = 128;
  static constexpr uint32_t kPairs = 512;
  Array<unsigned char> first_, second_;
  Array<int> scores_;
};

}  // namespace

std::vector<Entry> Texts() {
  return {Named<StringSearch>("string search 4M"), Named<SmithWaterman>("Smith-Waterman 512x128x128")};
}

}  // namespace bench
