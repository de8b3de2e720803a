// The same program as C++.
#include "runtime.c"
