/*
 * _mtsc.h: the headers of the extension module _mtsc: the compiler. declare.py reads this list.
 */
#include "mts/mtsc.h"
