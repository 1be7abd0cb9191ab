// Any text as a control command, and any packet in its place.
#include <cmath>
#include <cstdlib>

#include "base/nearest.h"
#include "control/command_message.h"
#include "control/object_values.h"
#include "control/text_table.h"
#include "control/words.h"
#include "wire/limit_text.h"
#include "wire/visible_devices.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)control::ReadCommand({data, size});
  (void)control::ReadCommandReply({data, size});
  for (const std::string& word : control::SplitWords(text)) {
    (void)control::ParseNumber(word);
    (void)wire::ParsePriority(word);
    // Written with one decimal, as NVIDIA's daemon does: 0.04 is "0.0", which is not read again, but is that near.
    if (const auto percentage = wire::ParsePercentage(word)) {
      const double written = std::strtod(wire::FormatPercentage(*percentage).c_str(), nullptr);
      if (!(std::abs(written - *percentage) <= 0.05 + 1e-9)) __builtin_trap();
    }
    // What is parsed must be printed so that it parses again.
    if (const auto bytes = wire::ParseMemory(word); bytes && !wire::ParseMemory(wire::FormatMemory(*bytes)))
      __builtin_trap();
  }
  control::TextTable table{.columns = {"entry"}};
  for (const std::string& entry : control::SplitList(text)) {
    (void)control::ParseMemoryLimits(entry);
    (void)control::CheckObjectName("server", entry);
    (void)control::ParseOutputFormat(entry);
    (void)Nearest(entry, std::vector<std::string>{"server", "namespace", "client"});
    table.rows.push_back({entry});
  }
  (void)control::FormatText(table, true);
  (void)control::FormatCsv(table, true);
  (void)control::FormatJson(table);
  std::string all;
  for (const std::string_view piece : control::SplitReply(text)) all += piece;
  if (all != text) __builtin_trap();
  return 0;
}
