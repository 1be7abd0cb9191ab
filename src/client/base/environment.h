// What the environment says to this library.
//
// A program that has rights its caller lacks (setuid, file capabilities) does not listen to it: every variable may have
// been set by a user who would like to choose the server that is started, the file that is written to, or whom to
// trust.
#pragma once

#include <string>

namespace tutti::client {

// Its value, cut to what a message takes; empty if it is not set, or not to be listened to. Thread-safe as getenv is.
std::string Environment(const char* name);
// Whether it is set at all, be it to nothing.
bool IsSet(const char* name);
// For a program of ours that is started: what it may hear of the environment. All of it, or none.
bool EnvironmentIsTrusted();

}  // namespace tutti::client
