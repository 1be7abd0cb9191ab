// The timeline as one HTML file that needs nothing else (timeline.html with the trace in it).
#pragma once

#include <string>

#include "cli/trace_model.h"

namespace tutti::cli {

std::string TimelinePage(const TraceModel& model);

}  // namespace tutti::cli
