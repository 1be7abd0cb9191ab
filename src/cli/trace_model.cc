#include "cli/trace_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace tutti::cli {
namespace {

using Json = nlohmann::json;

struct RawEvent {
  double start_us;
  double duration_us;
  uint32_t pid;
  TraceRow row;
  std::string kernel;
  uint32_t blocks;
};

double Number(const Json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_number() ? found->get<double>() : 0;
}

uint32_t Index(const Json& event, const char* name) {
  const double value = Number(event, name);
  return value > 0 && value < 4e9 ? static_cast<uint32_t>(value) : 0;
}

std::string Text(const Json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& Arguments(const Json& event) {
  static const Json none = Json::object();
  const auto found = event.find("args");
  return found != event.end() && found->is_object() ? *found : none;
}

struct Collected {
  std::vector<RawEvent> events;
  std::map<uint32_t, std::string> names;
};

Collected Collect(const Json& list) {
  Collected collected;
  for (const Json& event : list) {
    if (!event.is_object()) continue;
    const std::string phase = Text(event, "ph");
    if (phase == "X") {
      const double start = Number(event, "ts"), duration = Number(event, "dur");
      if (!std::isfinite(start) || !std::isfinite(duration) || duration < 0) continue;
      const Json& arguments = Arguments(event);
      const uint32_t pid = Index(event, "pid");
      collected.events.push_back({start,
                                  duration,
                                  pid,
                                  {Index(arguments, "device"), Index(event, "tid")},
                                  Text(event, "name"),
                                  std::max(1u, Index(arguments, "blocks"))});
      if (std::string& name = collected.names[pid]; name.empty()) name = Text(arguments, "program");
    } else if (phase == "M" && Text(event, "name") == "process_name") {
      collected.names[Index(event, "pid")] = Text(Arguments(event), "name");
    }
  }
  return collected;
}

template <typename Key>
uint32_t IndexOf(std::map<Key, uint32_t>& known, const Key& key) {
  return known.try_emplace(key, static_cast<uint32_t>(known.size())).first->second;
}

TraceModel Build(Collected collected) {
  TraceModel model;
  std::ranges::stable_sort(collected.events, {}, &RawEvent::start_us);
  std::set<TraceRow> rows;
  for (const RawEvent& event : collected.events) rows.insert(event.row);
  model.rows.assign(rows.begin(), rows.end());
  std::map<uint32_t, uint32_t> processes;
  std::map<std::string, uint32_t> kernels;
  const double origin = collected.events.empty() ? 0 : collected.events.front().start_us;
  for (const RawEvent& event : collected.events) {
    const uint32_t process = IndexOf(processes, event.pid);
    if (process == model.processes.size()) model.processes.push_back({event.pid, collected.names[event.pid]});
    const uint32_t kernel = IndexOf(kernels, event.kernel);
    if (kernel == model.kernels.size()) model.kernels.push_back(event.kernel);
    const auto row = static_cast<uint32_t>(std::ranges::lower_bound(model.rows, event.row) - model.rows.begin());
    const double start = event.start_us - origin;
    model.spans.push_back({start, start + event.duration_us, row, process, kernel, event.blocks});
    model.duration_us = std::max(model.duration_us, start + event.duration_us);
  }
  std::ranges::stable_sort(model.spans, {}, [](const TraceSpan& span) { return std::tuple(span.row, span.start_us); });
  return model;
}

std::vector<TraceSpan> Merged(const std::vector<TraceSpan>& spans, double gap_us) {
  std::vector<TraceSpan> merged;
  for (const TraceSpan& span : spans) {
    TraceSpan* const last = merged.empty() ? nullptr : &merged.back();
    if (last != nullptr && last->row == span.row && last->process == span.process && last->kernel == span.kernel &&
        span.start_us - last->end_us <= gap_us) {
      last->end_us = std::max(last->end_us, span.end_us);
      last->blocks += span.blocks;
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

}  // namespace

Result<TraceModel> ReadTrace(const std::string& json) {
  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const Json* list = &document;
  if (document.is_object() && document.contains("traceEvents")) list = &document["traceEvents"];
  if (!list->is_array())
    return Fail("this is not a Chrome trace: it has no list of events (write one with tutti trace)");
  return Build(Collect(*list));
}

void MergeSpans(TraceModel& model, size_t most_spans) {
  // Even with few spans, gaps below a thousandth of a pixel at full width are closed.
  for (double gap_us = model.duration_us / 4e6;; gap_us = std::max(gap_us * 4, 0.01)) {
    auto merged = Merged(model.spans, gap_us);
    if (merged.size() <= most_spans || gap_us > model.duration_us) {
      model.spans = std::move(merged);
      return;
    }
  }
}

}  // namespace tutti::cli
