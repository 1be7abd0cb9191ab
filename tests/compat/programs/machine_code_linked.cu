// machine_code.cu with -rdc=true: each translation unit carries its own PTX.
#include "machine_code.cu"
