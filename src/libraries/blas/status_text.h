// Names and descriptions of cuBLAS' results, for both libraries.
#pragma once

namespace tutti::blas {

const char* StatusName(int status);
const char* StatusText(int status);
// libraryPropertyType: 0 major, 1 minor, 2 patch of kVersion. False: none of these.
bool VersionPart(int which, int* value);

}  // namespace tutti::blas
