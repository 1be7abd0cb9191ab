// Traces as files: what servers recorded, one Chrome trace event per line, made into one Chrome trace JSON document,
// which Perfetto and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::control {

// Joins the lines of all `files` (memory files with one JSON object per line) into the document `path`.
Status WriteChromeTrace(const std::vector<os::Fd>& files, const std::string& path);

}  // namespace tutti::control
