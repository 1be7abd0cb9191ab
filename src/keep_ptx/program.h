// What this library does by the program that it is in, and by what that looks for.
#pragma once

namespace tutti::keep_ptx {

// ptxas, which programs start that have PTX and want machine code: "/opt/venv/nvidia/cu13/bin/ptxas". It gets no option
// through a library; but the loader puts this library into it, too.
bool IsPtxas(const char* file);

// Of Python: its program ("python3.11") or its library ("/usr/lib/libpython3.11.so.1.0").
bool IsPython(const char* file);

// The file of the vendor's driver by which programs know that there is a GPU, before they load any library of CUDA: JAX
// asks whether it exists, and without it uses the processor. The CPU device has none.
bool IsDeviceFile(const char* path);

}  // namespace tutti::keep_ptx
