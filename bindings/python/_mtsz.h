/*
 * _mtsz.h: the headers of the extension module _mtsz: compression. declare.py reads this list.
 */
#include "mts/mtsz.h"
