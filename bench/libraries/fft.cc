#include "fft.h"

#include <fftw3.h>
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <vector>

#include "../driver.h"
#include "../median.h"

extern "C" {
int cufftPlanMany(int* plan, int rank, const int* n, const int* in_embed, int in_stride, int in_dist,
                  const int* out_embed, int out_stride, int out_dist, int type, int batch);
int cufftExecC2C(int plan, void* in, void* out, int direction);
int cufftDestroy(int plan);
}

namespace bench {
namespace {

constexpr int kSingleComplex = 0x29, kForward = -1;

using Complex = std::complex<float>;

void Check(int status, const char* call) {
  if (status == 0) return;
  fmt::print(stderr, "libraries: {}: cuFFT's status {}\n", call, status);
  std::exit(1);
}

struct Case {
  const char* name;
  std::vector<int> n;
  int batch = 1;

  size_t elements() const {
    size_t count = static_cast<size_t>(batch);
    for (const int extent : n) count *= static_cast<size_t>(extent);
    return count;
  }
  // In one sample, so that it takes longer than a clock's tick: for transforms that take microseconds, in their order.
  int repeats() const { return elements() < 100'000 ? 50 : 1; }
};

fftwf_complex* Fftw(std::vector<Complex>& numbers) { return reinterpret_cast<fftwf_complex*>(numbers.data()); }

// One call in ms, and the result.
double MeasureFftw(const Case& of, const std::vector<Complex>& input, int threads, unsigned effort,
                   std::vector<Complex>& result) {
  std::vector<Complex> in(input.size());
  result.resize(input.size());
  fftwf_plan_with_nthreads(threads);
  const int dist = static_cast<int>(of.elements() / of.batch);
  const fftwf_plan plan = fftwf_plan_many_dft(static_cast<int>(of.n.size()), of.n.data(), of.batch, Fftw(in), nullptr,
                                              1, dist, Fftw(result), nullptr, 1, dist, FFTW_FORWARD, effort);
  in = input;  // planning overwrites it
  const double ms = MedianMs([&] {
    for (int i = 0; i < of.repeats(); ++i) fftwf_execute_dft(plan, Fftw(in), Fftw(result));
  });
  fftwf_destroy_plan(plan);
  return ms / of.repeats();
}

double MeasureOurs(const Case& of, const std::vector<Complex>& input, std::vector<Complex>& result) {
  driver::Buffer<Complex> in(input), out(input.size());
  int plan = 0;
  Check(cufftPlanMany(&plan, static_cast<int>(of.n.size()), of.n.data(), nullptr, 0, 0, nullptr, 0, 0, kSingleComplex,
                      of.batch),
        "cufftPlanMany");
  void* const from = reinterpret_cast<void*>(in.address());
  void* const to = reinterpret_cast<void*>(out.address());
  const double ms = MedianMs([&] {
    for (int i = 0; i < of.repeats(); ++i) Check(cufftExecC2C(plan, from, to, kForward), "cufftExecC2C");
    CHECK_CU(cuCtxSynchronize());
  });
  result = out.Read();
  Check(cufftDestroy(plan), "cufftDestroy");
  return ms / of.repeats();
}

void ExpectSame(const Case& of, const std::vector<Complex>& ours, const std::vector<Complex>& theirs) {
  double difference = 0, length = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    difference += std::norm(ours[i] - theirs[i]);
    length += std::norm(theirs[i]);
  }
  if (std::sqrt(difference / length) < 1e-6) return;
  fmt::print(stderr, "libraries: {}: the results differ from FFTW's\n", of.name);
  std::exit(1);
}

}  // namespace

void MeasureFft(Report& report) {
  fftwf_init_threads();
  const Case cases[] = {{"2^10", {1 << 10}},
                        {"2^12", {1 << 12}},
                        {"2^14", {1 << 14}},
                        {"2^16", {1 << 16}},
                        {"2^18", {1 << 18}},
                        {"2^20", {1 << 20}},
                        {"1,000 of 1,000", {1000}, 1000},
                        {"1,024 of 1,024", {1024}, 1024},
                        {"1,024 x 1,024", {1024, 1024}},
                        {"128 x 128 x 128", {128, 128, 128}}};
  for (const Case& of : cases) {
    std::vector<Complex> input(of.elements()), ours, theirs;
    for (size_t i = 0; i < input.size(); ++i)
      input[i] = Complex(static_cast<float>(i * 7919 % 1013) - 506, static_cast<float>(i * 104729 % 997) - 498);
    const double our_ms = MeasureOurs(of, input, ours);
    for (const auto& [threads, effort, effort_name] : {std::tuple(1, FFTW_ESTIMATE, "ESTIMATE"),
                                                       {1, FFTW_MEASURE, "MEASURE"},
                                                       {2, FFTW_ESTIMATE, "ESTIMATE"},
                                                       {2, FFTW_MEASURE, "MEASURE"}}) {
      const double their_ms = MeasureFftw(of, input, threads, effort, theirs);
      ExpectSame(of, ours, theirs);
      report.Add({fmt::format("cuFFT C2C, {}", of.name), our_ms * 1000, "us", their_ms * 1000,
                  fmt::format("FFTW, {}, {} thread{}", effort_name, threads, threads == 1 ? "" : "s"),
                  their_ms / our_ms});
    }
  }
}

}  // namespace bench
