/*
 * _mts.h: the headers of the extension module _mts: run-time and decoders. declare.py reads this list.
 */
#include "mts/kit.h"
#include "mts/mts.h"
#include "mts/profile.h"
