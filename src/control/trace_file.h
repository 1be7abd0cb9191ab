// Merges the servers' trace files, one Chrome trace event per line, into one Chrome trace JSON document for Perfetto
// and chrome://tracing.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::control {

// Joins the lines of all `files` (memory files with one JSON object per line) into the document `path`.
Status WriteChromeTrace(const std::vector<os::Fd>& files, const std::string& path);

}  // namespace tutti::control
