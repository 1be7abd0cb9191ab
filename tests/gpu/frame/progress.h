// The driver call that each process of a step is in: a shared page that the run reads when a step has hung or died.
#pragma once

#include <string>

namespace tutti::gpu {

// The run's: a new page as a descriptor for the step's processes; what the page says.
int MakeProgressPage();
std::string ReadProgress(int fd);

// A process's own, at its start: which role it has (text that lives as long as the process). Then each of its threads
// says which call it is in. Without a page: nothing.
void JoinProgress(const char* role);
void EnterCall(const char* symbol);
void LeaveCall();

}  // namespace tutti::gpu
