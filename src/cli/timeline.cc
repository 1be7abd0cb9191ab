#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "cli/subcommands.h"
#include "cli/timeline_page.h"

namespace tutti::cli {
namespace {

constexpr size_t kMostSpans = 150'000;  // about 5 MB of page, which browsers draw at once

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return FailErrno(fmt::format("cannot read {}", path));
  return text.str();
}

Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return FailErrno(fmt::format("cannot write {}", path));
  return {};
}

Status Timeline(const std::string& input, const std::string& output) {
  TUTTI_ASSIGN(const std::string json, ReadFile(input));
  auto model = ReadTrace(json);
  if (!model) return Fail(input + ": " + model.error().text);
  if (model->spans.empty()) return Fail(input + " holds no events: was a kernel running while it was recorded?");
  MergeSpans(*model, kMostSpans);
  TUTTI_TRY(WriteFile(output, TimelinePage(*model)));
  std::fprintf(stderr, "%s: open it in a browser\n", output.c_str());
  return {};
}

}  // namespace

void AddTimeline(Command& tutti) {
  struct TimelineOptions {
    std::string input;
    std::string output = "timeline.html";
  };
  Command& timeline = tutti.AddCommand("timeline", "Draw a trace as one HTML page");
  const auto options = std::make_shared<TimelineOptions>();
  timeline.AddOption("trace", &options->input, "Chrome trace JSON, as tutti trace writes it").Required();
  timeline.AddOption("-o,--output", &options->output, "Page to write").ShowDefault();
  timeline.Do([options] { return ExitStatus(Timeline(options->input, options->output)); });
}

}  // namespace tutti::cli
