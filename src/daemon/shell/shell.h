// The control shell: commands to a running daemon, answers to stdout.
//
// Health checks read its exit status: 0 if the daemon answered, even with a refusal; 1 if there is no daemon, if it
// answers neither this command within 30 s (TUTTI_SHELL_TIMEOUT) nor anybody else after that, or if the connection
// broke. After `quit` it is 0 only if every server ended by itself.
#pragma once

#include <string>

#include "control/places.h"

namespace tutti::daemon {

// Runs one command line.
int RunOneCommand(const control::Places& places, const std::string& line);

// Runs the lines on stdin; the last one needs no newline. Prompts only if stdin is a terminal.
int RunShell(const control::Places& places);

}  // namespace tutti::daemon
