// As compiled for a debugger: variables in local memory, functions called, loops as they were written.
#include "locks.cu"
