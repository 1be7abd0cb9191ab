// Reads the environment.
//
// A program with more rights than its caller (setuid, file capabilities) ignores the environment: the caller could use
// it to choose the server that is started, the file that is written, or the user that is trusted.
#pragma once

#include <string>

namespace tutti::client {

// The variable's value, cut to what a message holds; empty if it is unset or ignored. Thread-safe as getenv is.
std::string Environment(const char* name);
// Whether it is set at all, even to nothing.
bool IsSet(const char* name);
// The environment for a program of ours that is started: all of it, or none.
bool EnvironmentIsTrusted();

}  // namespace tutti::client
