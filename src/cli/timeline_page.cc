#include "cli/timeline_page.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace tutti::cli {

extern const char* const kTimelineTemplate;  // timeline.html, made into a source file by the build

namespace {

// JSON that is safe inside <script>: names of kernels and programs cannot produce "</script" or "<!--".
std::string Quoted(const std::string& text) {
  std::string quoted =
      nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  for (size_t at = 0; (at = quoted.find('<', at)) != std::string::npos;) quoted.replace(at, 1, "\\u003c");
  return quoted;
}

std::string SpansOf(const TraceModel& model, uint32_t row) {
  std::string text;
  for (const TraceSpan& span : model.spans) {
    if (span.row != row) continue;
    fmt::format_to(std::back_inserter(text), "{}[{:.2f},{:.2f},{},{},{}]", text.empty() ? "" : ",", span.start_us,
                   span.end_us - span.start_us, span.process, span.kernel, span.blocks);
  }
  return text;
}

std::string RowLabel(const TraceModel& model, const TraceRow& row) {
  const bool several_devices = model.rows.front().device != model.rows.back().device;
  return several_devices ? fmt::format("\"{}: SM {}\"", row.device, row.sm) : fmt::format("\"SM {}\"", row.sm);
}

std::string TraceLiteral(const TraceModel& model) {
  std::string text = fmt::format("{{duration:{:.2f},rows:[", model.duration_us);
  for (const TraceRow& row : model.rows) text += RowLabel(model, row) + ",";
  text += "],processes:[";
  for (const TraceProcess& process : model.processes) {
    fmt::format_to(std::back_inserter(text), "{{pid:{},name:{}}},", process.pid, Quoted(process.name));
  }
  text += "],kernels:[";
  for (const std::string& kernel : model.kernels) text += Quoted(kernel) + ",";
  text += "],spans:[";
  for (uint32_t row = 0; row < model.rows.size(); ++row) text += "[" + SpansOf(model, row) + "],\n";
  return text + "]}";
}

}  // namespace

std::string TimelinePage(const TraceModel& model) {
  constexpr std::string_view kPlace = "/*TRACE*/null";
  std::string page = kTimelineTemplate;
  return page.replace(page.find(kPlace), kPlace.size(), TraceLiteral(model));
}

}  // namespace tutti::cli
