// P13 and P14: marks, words that the GPU writes when a stream has reached them: their cost, and what is visible once a
// mark is.
#include <vector>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

void Mark(CUstream stream, CUdeviceptr word, uint64_t value, unsigned flags = CU_STREAM_WRITE_VALUE_DEFAULT) {
  CU(cuStreamWriteValue64_v2, stream, word, value, flags);
}

void MarkTwo(CUstream stream, CUdeviceptr a, CUdeviceptr b, uint64_t value) {
  CUstreamBatchMemOpParams operations[2] = {};
  for (int i = 0; i < 2; ++i) {
    operations[i].value.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    operations[i].value.address = i == 0 ? a : b;
    operations[i].value.value = value;
  }
  CU(cuStreamBatchMemOp_v2, stream, 2u, &operations[0], 0u);
}

// Kernels of 2 us, `marks` of them followed by a mark: ns of one from the first to the last, on the device's clock.
template <typename Do>
double PerKernelNs(CUstream stream, int kernels, const Do& mark) {
  const CUfunction spin = Kernel("spin");
  CUevent begin = nullptr, end = nullptr;
  CU(cuEventCreate, &begin, 0u);
  CU(cuEventCreate, &end, 0u);
  std::vector<double> rounds;
  for (int round = 0; round < 5; ++round) {
    Holder holder;  // all of it is in the stream before the first begins, so that the host's time does not show
    holder.Start(stream, 2000);
    CU(cuEventRecord, begin, stream);
    for (int i = 0; i < kernels; ++i) {
      Launch(spin, 1, 1, stream, uint64_t{2000});
      mark(i);
    }
    CU(cuEventRecord, end, stream);
    holder.Release();
    CU(cuStreamSynchronize, stream);
    float ms = 0;
    CU(cuEventElapsedTime, &ms, begin, end);
    rounds.push_back(static_cast<double>(ms) * 1e6 / kernels);
  }
  return Median(rounds);
}

void Cost(std::string_view) {
  OpenGpu();
  const CUstream stream = NewStream();
  SharedWords words(16);
  Mark(stream, words.at(0), 1);
  CU(cuStreamSynchronize, stream);
  const int count = Here().Size(256, 32);
  const Stopwatch time;
  for (int i = 0; i < count; ++i) Mark(stream, words.at(0), 2);
  const double cpu_us = time.us() / count;
  CU(cuStreamSynchronize, stream);
  const int kernels = Here().Size(200, 20);
  const double plain = PerKernelNs(stream, kernels, [](int) {});
  const double each = PerKernelNs(stream, kernels, [&](int i) { Mark(stream, words.at(0), static_cast<uint64_t>(i)); });
  const double sixteenth = PerKernelNs(stream, kernels, [&](int i) {
    if (i % 16 == 15) Mark(stream, words.at(0), static_cast<uint64_t>(i));
  });
  const double light = PerKernelNs(stream, kernels, [&](int i) {
    Mark(stream, words.at(0), static_cast<uint64_t>(i), CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
  });
  Record()
      .Set("us on the CPU", cpu_us)
      .Set("ns a kernel without", plain)
      .Set("with a mark each", each)
      .Set("with one every 16", sixteenth)
      .Set("with a mark each, no barrier", light)
      .Write();
}

// From the call until the CPU sees the word.
void Latency(std::string_view) {
  OpenGpu();
  const CUstream stream = NewStream();
  SharedWords words(16);
  std::vector<double> mark, kernel_and_mark;
  const CUfunction empty = Kernel("empty");
  for (uint64_t i = 1; i <= Here().Size<uint64_t>(500, 20); ++i) {
    const Stopwatch time;
    Mark(stream, words.at(0), i);
    while (words[0] != i && time.seconds() < 2) {
    }
    mark.push_back(time.us());
    const Stopwatch both;
    Launch(empty, 1, 1, stream);
    Mark(stream, words.at(8), i);
    while (words[8] != i && both.seconds() < 2) {
    }
    kernel_and_mark.push_back(both.us());
  }
  Record()
      .Set("mark seen after us, median", Median(mark))
      .Set("p99", Quantile(mark, 0.99))
      .Set("kernel and mark, median", Median(kernel_and_mark))
      .Write();
}

void Batch(std::string_view) {
  OpenGpu();
  const CUstream stream = NewStream();
  SharedWords words(16);
  MarkTwo(stream, words.at(0), words.at(8), 1);
  CU(cuStreamSynchronize, stream);
  const int count = Here().Size(256, 16);
  const Stopwatch time;
  for (int i = 0; i < count; ++i) MarkTwo(stream, words.at(0), words.at(8), 2);
  const double us = time.us() / count;
  CU(cuStreamSynchronize, stream);
  const double each =
      PerKernelNs(stream, Here().Size(200, 20), [&](int) { MarkTwo(stream, words.at(0), words.at(8), 3); });
  Record()
      .Set("us on the CPU for two words", us)
      .Set("ns a kernel with two words each", each)
      .Set("both were written", words[0] == 3 && words[8] == 3)
      .Write();
}

// A kernel writes host memory, a mark follows: does who sees the mark see all that the kernel wrote?
void Visible(std::string_view step) {
  OpenGpu();
  const CUstream stream = NewStream();
  const uint64_t count = Here().Size<uint64_t>(128 * 1024, 4096);
  const unsigned flags =
      step == "without_barrier" ? CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER : CU_STREAM_WRITE_VALUE_DEFAULT;
  SharedWords data(count), mark(8);
  uint64_t stale_rounds = 0, stale_words = 0, missed = 0;
  const uint64_t rounds = Here().Size<uint64_t>(1000, 20);
  for (uint64_t round = 1; round <= rounds; ++round) {
    FillPattern(data.at(0), count * 8, round, stream);
    Mark(stream, mark.at(0), round, flags);
    const Stopwatch time;
    while (mark[0] != round && time.seconds() < 2) {
    }
    if (mark[0] != round) ++missed;
    uint64_t stale = 0;
    // The last words first: they are the ones that may still be under way.
    for (uint64_t i = count; i-- > 0;) stale += data[i] != (i + round) * 0x9e3779b97f4a7c15 ? 1 : 0;
    stale_words += stale;
    stale_rounds += stale > 0 ? 1 : 0;
    CU(cuStreamSynchronize, stream);
  }
  Record()
      .Set("rounds", rounds)
      .Set("KiB a round", count / 128)
      .Set("rounds with words not yet there", stale_rounds)
      .Set("words", stale_words)
      .Set("marks that never came", missed)
      .Write();
}

std::string DecideCost(const Evidence& evidence) {
  const auto plain = evidence.Number("P13", "cost", "ns a kernel without"),
             each = evidence.Number("P13", "cost", "with a mark each");
  const auto sixteenth = evidence.Number("P13", "cost", "with one every 16"),
             cpu = evidence.Number("P13", "cost", "us on the CPU");
  if (!plain || !each || !sixteenth || !cpu) return evidence.Undecided("P13");
  const double more = *each - *plain;
  std::string text = more <= 200 && *cpu <= 1     ? "marks = each: "
                     : *sixteenth - *plain <= 200 ? "a mark at the end of a burst and every 16 records: "
                                                  : "marks only at the end of a burst, completion by events: ";
  return text + "one costs " + Show(*cpu) + " us on the CPU and " + Show(more) +
         " ns between kernels of 2 us (every 16: " + Show(*sixteenth - *plain) + " ns)";
}

std::string DecideVisible(const Evidence& evidence) {
  const auto stale = evidence.Number("P14", "with_barrier", "rounds with words not yet there"),
             missed = evidence.Number("P14", "with_barrier", "marks that never came");
  const auto light = evidence.Number("P14", "without_barrier", "rounds with words not yet there");
  if (!stale || !missed) return evidence.Undecided("P14");
  if (*stale > 0 || *missed > 0)
    return "a mark is no proof that a kernel's writes to host memory are there: completion is told by events";
  return std::string("who sees a mark sees what was written before it: completion is the mark alone") +
         (light == 0.0 ? " (none was early without the barrier either, which proves nothing)" : "");
}

constexpr Step kCost[] = {{"cost", Cost, 10}, {"latency", Latency, 8}, {"batch", Batch, 8}};
constexpr Step kVisible[] = {{"with_barrier", Visible, 10}, {"without_barrier", Visible, 10}};

}  // namespace

const Probe kP13{
    "P13", "What does a word written by the stream cost, and when does the CPU see it?", kCost, {}, DecideCost};
const Probe kP14{"P14",
                 "A kernel writes host memory, then a mark is written: is everything there when the mark is?",
                 kVisible,
                 {},
                 DecideVisible};

}  // namespace tutti::gpu
