// The subcommands of `tutti`. Each adds itself to the command line; what it does returns the exit status: 0 success,
// 1 failure (with a line on stderr), 2 wrong usage.
#pragma once

#include <string>

#include "base/error.h"
#include "command_line/command_line.h"

namespace tutti::cli {

using command_line::Command;

void AddRun(Command& tutti);
void AddPs(Command& tutti);
void AddLimit(Command& tutti);
void AddPolicy(Command& tutti);
void AddTop(Command& tutti);
void AddStatus(Command& tutti);
void AddDevice(Command& tutti);
void AddFaults(Command& tutti);
void AddTrace(Command& tutti);
void AddTimeline(Command& tutti);
void AddDoctor(Command& tutti);
void AddDemo(Command& tutti);
void AddBench(Command& tutti);
void AddCache(Command& tutti);
void AddPlan(Command& tutti);
void AddRecommend(Command& tutti);
void AddCdi(Command& tutti);
void AddCompletion(Command& tutti);

// Prints "tutti: <text>" to stderr; returns 1.
int Complain(const std::string& text);
// 0, or complains.
int ExitStatus(const Status& done);

}  // namespace tutti::cli
