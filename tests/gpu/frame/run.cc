// The control flow of a run. The program itself never opens the vendor's driver: its steps do, in processes that can be
// killed.
//
// Time: a section gets its share of what is left when it begins, so unused time goes to later sections. Inside a
// section the steps run in the order of their weight, each with its own limit; when the section's time is over, the
// rest is recorded as not run.
#include "frame/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "frame/environment.h"
#include "frame/files.h"
#include "frame/find_driver.h"
#include "frame/kernel_log.h"
#include "frame/look.h"
#include "frame/mps.h"
#include "frame/numbers.h"
#include "frame/page.h"
#include "frame/process.h"
#include "frame/progress.h"
#include "frame/record.h"
#include "os/fd.h"

namespace tutti::gpu {
namespace {

constexpr double kReportSeconds = 8;  // of the run's time, for the page
constexpr size_t kLogBytes = 128 * 1024;

volatile bool interrupted = false;

std::string Date() {
  const std::time_t now = std::time(nullptr);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  return text;
}

class Run {
 public:
  Run(const RunPlan& plan, os::Fd results) : plan_(plan), results_(std::move(results)) {}

  int results() const { return results_.get(); }
  double left() const { return plan_.minutes * 60 - since_.seconds() - kReportSeconds; }

  // Runs one step and writes how it ended; the exit status of its process if it ended by itself.
  std::optional<int> Do(const Section& section, const Probe& probe, const Step& step, double limit) {
    const std::string name = std::string(section.name) + "/" + std::string(probe.id) + "/" + std::string(step.name);
    Record ending(section.name, probe.id, step.name);
    const auto end = [&](const char* outcome, const std::string& reason, double seconds) {
      ending.Set("outcome", outcome).Set("reason", reason).Set("seconds", seconds).Write(results());
    };
    NvidiaMps mps;
    if (step.under_mps) {
      const std::string problem = plan_.settings.mps.empty() && IsOurs(plan_.settings.vendor)
                                      ? "not here: the driver is not NVIDIA's"
                                      : mps.Start(plan_.settings);
      if (!problem.empty()) {
        end("lacks", problem, 0);
        EndAllChildren();
        return std::nullopt;
      }
    }
    const os::Fd progress(MakeProgressPage());
    const std::string log =
        plan_.settings.scratch + "/log/" + std::string(probe.id) + "." + std::string(step.name) + ".txt";
    const os::Fd output(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const os::Fd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const Stopwatch time;
    const pid_t child = StartProcess({
        .arguments = {OwnPath(), "--step", name},
        // Without MPS: a directory where no daemon listens, so that neither NVIDIA's nor ours is found by chance.
        .environment = {{"TUTTI_GPU_STEP", name},
                        {"CUDA_MPS_PIPE_DIRECTORY",
                         step.under_mps ? mps.pipe_directory() : plan_.settings.scratch + "/none"},
                        {"CUDA_MPS_LOG_DIRECTORY",
                         step.under_mps ? mps.log_directory() : plan_.settings.scratch + "/none"}},
        .files = {{nothing.get(), 0},
                  {output.get(), 1},
                  {output.get(), 2},
                  {results(), kResultsFd},
                  {progress.get(), kProgressFd}},
        .own_group = true,
    });
    if (child < 0) {
      end("failed", std::string("no process could be started: ") + strerror(errno), 0);
      return std::nullopt;
    }
    kernel_log_.News();  // what came between two steps is nobody's
    const Ending how = WaitFor(child, limit, &interrupted);
    const double seconds = time.seconds();
    const std::string calls = ReadProgress(progress.get());
    const std::string inside = calls.empty() ? "" : ", inside " + calls;
    kill(-child, SIGKILL);
    if (!how.ended) WaitFor(child, 2);
    mps.End();
    const int immortal = EndAllChildren();
    std::optional<int> status;
    if (how.ended && WIFEXITED(how.status)) status = WEXITSTATUS(how.status);
    if (status == 0) {
      ending.Set("outcome", "done").Set("seconds", seconds).Write(results());
    } else if (interrupted) {
      end("interrupted", "the run was interrupted", seconds);
    } else if (!how.ended) {
      end("killed", "ended after " + Show(seconds) + " s" + inside, seconds);
    } else if (status != kGaveUp && !(status >= kLookStatus && probe.id == "start")) {
      end("crashed", Describe(how.status) + inside, seconds);
    }
    for (const std::string& line : kernel_log_.News())
      Record(section.name, probe.id, step.name).Set("the kernel's log", line).Write(results());
    if (immortal > 0)
      Record(section.name, probe.id, step.name).Set("processes that could not be ended", immortal).Write(results());
    return status;
  }

  bool Wanted(const Section& section, const Probe& probe) const {
    const auto has = [&](std::string_view name) { return plan_.only.contains(std::string(name)); };
    return plan_.only.empty() || has(section.name) || has(probe.id);
  }

  void DoSection(const Section& section, double end_left) {
    for (const Probe* probe : section.probes) {
      if (!Wanted(section, *probe)) continue;
      std::printf("%-14s %-4s %s\n", std::string(section.name).c_str(), std::string(probe->id).c_str(),
                  std::string(probe->question).c_str());
      std::fflush(stdout);
      for (const Step& step : probe->steps) {
        const double patience = plan_.settings.small ? kSmallPatience : 1;
        const double seconds = std::min(step.seconds * patience, left() - end_left);
        if (interrupted || seconds < 0.5) {
          Record(section.name, probe->id, step.name)
              .Set("outcome", "not run")
              .Set("reason", interrupted ? "the run was interrupted" : "the section's time was over")
              .Write(results());
          continue;
        }
        Do(section, *probe, step, seconds);
      }
    }
  }

  void DoSections() {
    double shares = 0;
    for (const Section& section : Sections()) shares += WantedShare(section);
    for (const Section& section : Sections()) {
      const double share = WantedShare(section);
      if (share == 0) continue;
      DoSection(section, std::max(0.0, left() * (1 - share / shares)));
      shares -= share;
    }
  }

 private:
  double WantedShare(const Section& section) const {
    const bool any = std::any_of(section.probes.begin(), section.probes.end(),
                                 [&](const Probe* probe) { return Wanted(section, *probe); });
    return any ? section.share : 0;
  }

  const RunPlan& plan_;
  os::Fd results_;
  Stopwatch since_;
  KernelLog kernel_log_;
};

Verdict Refuse(Verdict verdict, const std::string& text) {
  std::fprintf(stderr, "gpu: %s\n", text.c_str());
  return verdict;
}

// The directory of the results, with an empty results.jsonl; earlier results keep a name beside it.
os::Fd OpenResults(const std::string& out) {
  for (size_t at = 1; at != std::string::npos && at < out.size();) {
    at = out.find('/', at);
    mkdir(out.substr(0, at).c_str(), 0755);
    if (at != std::string::npos) ++at;
  }
  const std::string path = out + "/results.jsonl";
  struct stat about{};
  if (stat(path.c_str(), &about) == 0 && about.st_size > 0)
    rename(path.c_str(), (out + "/results-before.jsonl").c_str());
  return os::Fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
}

bool WriteReport(const RunPlan& plan) {
  const Evidence evidence = Evidence::Read(plan.out + "/results.jsonl");
  const bool well = WriteFile(plan.out + "/results.md", Page(evidence)) &&
                    WriteFile(plan.out + "/environment.txt", DescribeEnvironment(plan.settings)) &&
                    WriteArchive(plan.out + "/log.tar", plan.settings.scratch + "/log", kLogBytes);
  std::printf("\n%s", Summary(evidence, plan.out).c_str());
  return well;
}

// The driver's compiler and others lie beside it and are found by name: by the loader, if the folder is one of its own.
void LetDriverFindItsParts(const std::string& vendor) {
  const std::string folder = vendor.substr(0, vendor.rfind('/'));
  if (folder.starts_with("/usr/lib") || folder.starts_with("/lib")) return;
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  setenv("LD_LIBRARY_PATH",
         (before == nullptr || *before == '\0' ? folder : std::string(before) + ":" + folder).c_str(), 1);
}

std::string MakeScratch(const std::string& out) {
  // Sockets are made in it, whose paths must be short.
  for (const std::string& folder : {std::string("/tmp"), std::string("/dev/shm"), out}) {
    std::string path = folder + "/tutti-gpu.XXXXXX";
    if (mkdtemp(path.data()) == nullptr) continue;
    mkdir((path + "/log").c_str(), 0700);
    mkdir((path + "/none").c_str(), 0700);
    return path;
  }
  return "";
}

}  // namespace

Verdict RunAll(RunPlan plan) {
  if (plan.settings.vendor.empty()) {
    const FoundDriver found = FindDriver();
    if (found.path.empty())
      return Refuse(Verdict::kNoDevice,
                    "no NVIDIA driver: there is no libcuda.so.1 at " + found.looked + " (--vendor PATH names another)");
    if (!HasDeviceFile())
      return Refuse(Verdict::kNoDevice, "no GPU: the driver is there (" + found.path + "), but no /dev/nvidia0");
    plan.settings.vendor = found.path;
  } else if (access(plan.settings.vendor.c_str(), R_OK) != 0) {
    return Refuse(Verdict::kNoDevice, plan.settings.vendor + ": " + strerror(errno));
  }
  os::Fd results = OpenResults(plan.out);
  if (!results)
    return Refuse(Verdict::kNoOutput,
                  "the results cannot be written: " + plan.out + "/results.jsonl: " + strerror(errno));
  plan.settings.scratch = MakeScratch(plan.out);
  if (plan.settings.scratch.empty())
    return Refuse(Verdict::kFailed, std::string("no scratch directory in /tmp: ") + strerror(errno));
  Announce(plan.settings);
  setenv("CUDA_CACHE_PATH", (plan.settings.scratch + "/jit").c_str(), 1);
  setenv("TUTTI_CACHE_DIR", (plan.settings.scratch + "/code").c_str(), 1);
  // A kernel's code is there before another kernel runs: loading it may wait for that one (P18 asks when).
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("HOME", plan.settings.scratch.c_str(), 0);
  LetDriverFindItsParts(plan.settings.vendor);
  AdoptOrphans();
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = true; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);

  Run run(plan, std::move(results));
  Record("start", "start", "run")
      .Set("date", Date())
      .Set("driver", plan.settings.vendor)
      .Set("small", plan.settings.small)
      .Set("minutes", plan.minutes)
      .Write(run.results());
  if (plan.shared_anyway) setenv("TUTTI_GPU_SHARED_ANYWAY", "1", 1);
  const Section start{.name = "start", .title = "", .share = 0, .probes = {}};
  const Step& look = LookProbe().steps[0];
  const auto looked = run.Do(start, LookProbe(), look, std::clamp(run.left(), 1.0, look.seconds));
  Verdict verdict = Verdict::kComplete;
  if (looked == 0) {
    run.DoSections();
    if (interrupted) verdict = Verdict::kInterrupted;
  } else if (interrupted) {
    verdict = Verdict::kInterrupted;
  } else {
    const std::string reason = Evidence::Read(plan.out + "/results.jsonl").Text("start", "look", "reason");
    verdict =
        Refuse(looked.value_or(0) >= kLookStatus ? static_cast<Verdict>(*looked - kLookStatus) : Verdict::kNoDevice,
               looked.has_value() ? reason : "the driver " + plan.settings.vendor + " does not start: " + reason);
  }
  // Of a driver that does not start, too: its log may say why.
  if (!WriteReport(plan))
    verdict = Refuse(Verdict::kNoOutput, "the page cannot be written: " + plan.out + ": " + strerror(errno));
  RemoveTree(plan.settings.scratch);
  return verdict;
}

}  // namespace tutti::gpu
