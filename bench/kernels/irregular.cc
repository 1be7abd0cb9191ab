// Kernels that follow indices: a sparse matrix, a graph, a hash table.
#include "problem.h"
#include "problems.h"

EMBED_TEXT(irregular_ptx, "kernels/irregular.ptx");
EMBED_TEXT(irregular_cl, "kernels/irregular.cl");

namespace bench {
namespace {

using problem::Floats;
using Words = std::vector<uint32_t>;

class Ell final : public Problem {
 public:
  explicit Ell(OpenCl* opencl)
      : Problem({irregular_ptx, irregular_cl}),
        columns_(opencl, Columns()),
        values_(opencl, Floats(kRows * kWidth)),
        x_(opencl, Floats(kRows, 3)),
        y_(opencl, Floats(kRows)) {
    work = {.bytes = 8.0 * kRows * kWidth + 8.0 * kRows};
    Returns(y_, 1e-4);
  }
  void Kernels(Runner& on) override {
    on.Launch("spmv_ell", {.x = kRows / 256}, columns_, values_, x_, y_, kRows, kWidth);
  }
  void Native() override {
    const uint32_t* columns = columns_.data();
    const float *values = values_.data(), *x = x_.data();
    float* y = y_.data();
#pragma omp parallel for schedule(static)
    for (uint32_t start = 0; start < kRows; start += 256) {
      float sums[256] = {};
      for (uint32_t i = 0; i < kWidth; ++i) {
#pragma omp simd
        for (uint32_t r = 0; r < 256; ++r) sums[r] += values[i * kRows + start + r] * x[columns[i * kRows + start + r]];
      }
      for (uint32_t r = 0; r < 256; ++r) y[start + r] = sums[r];
    }
  }

 private:
  static constexpr uint32_t kRows = 1 << 16, kWidth = 16;
  static Words Columns() {
    Words columns(kRows * kWidth);
    for (uint32_t i = 0; i < columns.size(); ++i) columns[i] = example::Hash(i) % kRows;
    return columns;
  }
  Array<uint32_t> columns_;
  Array<float> values_, x_, y_;
};

// Level by level over all nodes of a random graph, on the device and in C++.
class Bfs final : public Problem {
 public:
  explicit Bfs(OpenCl* opencl)
      : Problem({irregular_ptx, irregular_cl}),
        starts_(opencl, Starts()),
        targets_(opencl, Targets()),
        levels_(opencl, Words(kNodes, ~0u)) {
    work = {.bytes = 4.0 * kNodes * (kDegree + 1 + kLevels)};
    Returns(levels_);
  }
  void Kernels(Runner& on) override {
    on.Clear(levels_, ~0u);
    on.Launch("bfs_root", {.x = 1, .block_x = 1}, levels_);
    for (uint32_t level = 0; level < kLevels; ++level)
      on.Launch("bfs_level", {.x = kNodes / 256}, starts_, targets_, levels_, level);
  }
  void Native() override {
    const uint32_t *starts = starts_.data(), *targets = targets_.data();
    uint32_t* levels = levels_.data();
    std::fill(levels_.host.begin(), levels_.host.end(), ~0u);
    levels[0] = 0;
    for (uint32_t level = 0; level < kLevels; ++level) {
#pragma omp parallel for schedule(static)
      for (uint32_t node = 0; node < kNodes; ++node) {
        if (levels[node] != level) continue;
        for (uint32_t i = starts[node]; i < starts[node + 1]; ++i) {
          if (levels[targets[i]] == ~0u) levels[targets[i]] = level + 1;
        }
      }
    }
  }

 private:
  static constexpr uint32_t kNodes = 1 << 18, kDegree = 8, kLevels = 12;
  static Words Starts() {
    Words starts(kNodes + 1);
    for (uint32_t i = 0; i < kNodes; ++i) starts[i + 1] = starts[i] + kDegree / 2 + example::Hash(i) % kDegree;
    return starts;
  }
  static Words Targets() {
    Words targets(Starts().back());
    for (uint32_t i = 0; i < targets.size(); ++i) targets[i] = example::Hash(i * 7 + 1) % kNodes;
    return targets;
  }
  Array<uint32_t> starts_, targets_, levels_;
};

class HashJoin final : public Problem {
 public:
  explicit HashJoin(OpenCl* opencl)
      : Problem({irregular_ptx, irregular_cl}),
        built_(opencl, Keys(kBuilt, 2)),
        probed_(opencl, Keys(kProbed, 1)),
        keys_(opencl, Words(kSlots)),
        values_(opencl, Words(kSlots)),
        matches_(opencl, Words(kProbed)) {
    work = {.bytes = 4.0 * (3 * kBuilt + 2 * kProbed + 3 * kSlots)};
    Returns(matches_);
  }
  void Kernels(Runner& on) override {
    on.Clear(keys_, 0);
    on.Launch("join_build", {.x = kBuilt / 256}, built_, keys_, values_, kMask);
    on.Launch("join_probe", {.x = kProbed / 256}, probed_, keys_, values_, matches_, kMask);
  }
  void Native() override {
    const uint32_t *built = built_.data(), *probed = probed_.data();
    uint32_t *keys = keys_.data(), *values = values_.data(), *matches = matches_.data();
#pragma omp parallel
    {
#pragma omp for schedule(static)
      for (uint32_t i = 0; i < kSlots; ++i) keys[i] = 0;
#pragma omp for schedule(static)
      for (uint32_t i = 0; i < kBuilt; ++i) {
        uint32_t slot = Slot(built[i]), empty = 0;
        while (!__atomic_compare_exchange_n(&keys[slot], &empty, built[i], false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
          slot = (slot + 1) & kMask, empty = 0;
        values[slot] = i;
      }
#pragma omp for schedule(static)
      for (uint32_t i = 0; i < kProbed; ++i) {
        uint32_t slot = Slot(probed[i]), match = ~0u;
        for (; keys[slot] != 0; slot = (slot + 1) & kMask) {
          if (keys[slot] != probed[i]) continue;
          match = values[slot];
          break;
        }
        matches[i] = match;
      }
    }
  }

 private:
  static constexpr uint32_t kBuilt = 1 << 17, kProbed = 1 << 20, kSlots = 1 << 18, kMask = kSlots - 1;
  static uint32_t Slot(uint32_t key) { return key * 2654435761u >> 7 & kMask; }
  // Of the keys probed, in a random order, half were built.
  static Words Keys(uint32_t count, uint32_t step) {
    Words keys(count);
    for (uint32_t i = 0; i < count; ++i) keys[i] = step == 2 ? i * 2 + 1 : example::Hash(i) % (2 * kBuilt) + 1;
    return keys;
  }
  Array<uint32_t> built_, probed_, keys_, values_, matches_;
};

}  // namespace

std::vector<Entry> Irregular() {
  return {Named<Ell>("SpMV ELL 64K rows"), Named<Bfs>("BFS 256K nodes"), Named<HashJoin>("hash join 128K, 1M")};
}

}  // namespace bench
