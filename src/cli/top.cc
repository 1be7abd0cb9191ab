// `tutti top`: repeatedly shows the difference of two reports. On a terminal a full screen (top_screen.h); elsewhere,
// and with --batch, one table after the other, for pipes.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "cli/subcommands.h"
#include "cli/top_model.h"
#include "cli/top_screen.h"
#include "cli/values.h"

namespace tutti::cli {
namespace {

struct TopOptions {
  double interval_s = 1;
  uint32_t times = 0;
  bool batch = false;
  bool once = false;
};

Result<Sample> Take(control::DaemonConnection& daemon) {
  TUTTI_ASSIGN(Report report, FetchReport(daemon));
  return Sample{NowNs(), std::move(report)};
}

int ShowTables(control::DaemonConnection& daemon, const TopOptions& options) {
  auto before = Take(daemon);
  for (uint32_t shown = 0; before && (options.times == 0 || shown < options.times); ++shown) {
    usleep(static_cast<useconds_t>(options.interval_s * 1e6));
    auto now = Take(daemon);
    if (!now) return Complain(now.error().text);
    if (shown > 0) std::fputs("\n", stdout);
    std::fputs(TopText(Compare(*before, *now, TopOrder::kShare)).c_str(), stdout);
    std::fflush(stdout);
    before = std::move(now);
  }
  return before ? 0 : Complain(before.error().text);
}

// Refreshes until q; keys act at once, the numbers change with the next sample.
Status RunScreen(control::DaemonConnection& daemon, const TopOptions& options) {
  TopScreen screen;
  TopOrder order = TopOrder::kShare;
  bool paused = false;
  TUTTI_ASSIGN(Sample before, Take(daemon));
  Sample now = before;
  const auto interval_ns = static_cast<uint64_t>(options.interval_s * 1e9);
  uint64_t next_ns = NowNs() + std::min<uint64_t>(interval_ns, 250'000'000);  // the first numbers soon
  for (uint32_t looks = 0; options.times == 0 || looks < options.times;) {
    screen.Draw(Compare(before, now, order), order, paused);
    const uint64_t time_ns = NowNs();
    const auto key = screen.Wait(time_ns >= next_ns ? 0 : static_cast<int>((next_ns - time_ns) / 1'000'000 + 1));
    switch (key) {
      case TopScreen::Key::kQuit: return {};
      case TopScreen::Key::kShare: order = TopOrder::kShare; break;
      case TopScreen::Key::kMemory: order = TopOrder::kMemory; break;
      case TopScreen::Key::kLaunches: order = TopOrder::kLaunches; break;
      case TopScreen::Key::kPid: order = TopOrder::kPid; break;
      case TopScreen::Key::kPause: paused = !paused; break;
      case TopScreen::Key::kResize:
      case TopScreen::Key::kNone: break;
    }
    if (NowNs() < next_ns) continue;
    next_ns = NowNs() + interval_ns;
    ++looks;
    if (paused) continue;
    before = std::move(now);
    TUTTI_ASSIGN(now, Take(daemon));
  }
  return {};
}

int Top(TopOptions options) {
  auto daemon = control::DaemonConnection::Open(control::PlacesFromEnvironment());
  if (!daemon) return Complain(daemon.error().text);
  if (options.once) options.times = 1;
  const char* const terminal = std::getenv("TERM");
  const bool screen = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 && terminal != nullptr &&
                      std::string_view(terminal) != "dumb";
  if (options.batch || options.once || !screen) return ShowTables(*daemon, options);
  const Status status = RunScreen(*daemon, options);  // the terminal is restored before anything is printed
  return status ? 0 : Complain(status.error().text);
}

}  // namespace

void AddTop(Command& tutti) {
  Command& top = tutti.AddCommand("top", "Show each program's use of the device, live");
  const auto options = std::make_shared<TopOptions>();
  top.AddOption("-d,--interval", &options->interval_s, "Seconds between two samples")
      .Check(Between(0.05, 3600))
      .ShowDefault();
  top.AddOption("-n,--times", &options->times, "Stop after this many samples; 0: at q or Ctrl-C").ShowDefault();
  top.AddFlag("-b,--batch", &options->batch, "Tables one after the other, also on a terminal");
  top.AddFlag("--once", &options->once, "One table");
  top.Do([options] { return Top(*options); });
}

}  // namespace tutti::cli
