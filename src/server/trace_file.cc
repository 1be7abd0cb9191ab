#include "server/trace_file.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "os/filled_memory.h"

namespace tutti::server {

std::string TraceLine(const device::Backend::TraceEvent& event) {
  const size_t space = event.label.find(' ');
  uint32_t pid = 0;
  std::from_chars(event.label.data(), event.label.data() + event.label.size(), pid);
  const nlohmann::ordered_json line = {
      {"name", event.kernel},
      {"ph", "X"},
      {"pid", pid},
      {"tid", event.sm},
      {"ts", static_cast<double>(event.begin_ns) / 1e3},
      {"dur", static_cast<double>(event.end_ns - event.begin_ns) / 1e3},
      {"args",
       {{"program", space == std::string::npos ? event.label : event.label.substr(space + 1)},
        {"device", event.device},
        {"blocks", event.blocks}}},
  };
  // Names come from clients: invalid UTF-8 in them is replaced.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Status WriteTrace(device::Backend& backend, int file) {
  std::string text;
  for (const auto& event : backend.TakeTrace()) text += TraceLine(event);
  return os::FillMemory(file, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace tutti::server
