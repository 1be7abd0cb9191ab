// The timeline as one self-contained HTML file (timeline.html with the trace embedded).
#pragma once

#include <string>

#include "cli/trace_model.h"

namespace tutti::cli {

std::string TimelinePage(const TraceModel& model);

}  // namespace tutti::cli
