// The daemon's report, under the names this folder uses.
#pragma once

#include "control/report.h"

namespace tutti::cli {

using control::ClientReport;
using control::DeviceReport;
using control::FetchReport;
using control::KernelReport;
using control::ParseReport;
using control::Report;
using control::ServerReport;

}  // namespace tutti::cli
