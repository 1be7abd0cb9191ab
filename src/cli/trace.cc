#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/subcommands.h"
#include "cli/values.h"
#include "control/daemon_connection.h"
#include "control/trace_file.h"

namespace tutti::cli {
namespace {

struct TraceOptions {
  std::string output = "trace.json";
  double seconds = 3;
  bool stop = false;
};

Status Order(control::DaemonConnection& daemon, const char* command) {
  TUTTI_ASSIGN(const control::Answer answer, daemon.Run(command));
  if (answer.text.empty()) return {};
  return Fail(answer.text.substr(0, answer.text.find('\n')));
}

Status Trace(const TraceOptions& options) {
  TUTTI_ASSIGN(auto daemon, control::DaemonConnection::Open(control::PlacesFromEnvironment()));
  if (!options.stop) {
    TUTTI_TRY(Order(daemon, "trace on"));
    usleep(static_cast<useconds_t>(options.seconds * 1e6));
  }
  TUTTI_ASSIGN(const control::Answer dump, daemon.Run("trace dump"));
  TUTTI_TRY(Order(daemon, "trace off"));
  if (dump.exit_status != 0) return Fail(dump.text.substr(0, dump.text.find('\n')));
  TUTTI_TRY(control::WriteChromeTrace(dump.files, options.output));
  std::fprintf(stderr, "%s: open it in ui.perfetto.dev, or draw it with tutti timeline %s\n", options.output.c_str(),
               options.output.c_str());
  return {};
}

}  // namespace

void AddTrace(Command& tutti) {
  Command& trace = tutti.AddCommand("trace", "Record what runs on each SM, as Chrome trace JSON");
  const auto options = std::make_shared<TraceOptions>();
  trace.AddOption("-o,--output", &options->output, "File to write").ShowDefault();
  trace.AddOption("--seconds", &options->seconds, "How long to record").Check(Between(0.01, 600)).ShowDefault();
  trace.AddFlag("--stop", &options->stop, "Do not record: write what was recorded since `trace on`, and stop");
  trace.Do([options] { return ExitStatus(Trace(*options)); });
}

}  // namespace tutti::cli
