/*
 * parts.c: the sizes of public structs that are parts of others or elements of arrays. What comes behind them in a
 * program that was compiled with an older header stays where it is only while they keep their size. A new field
 * takes reserved words, or stands at the end of the struct around it.
 */
#include <mts/kit.h>
#include <mts/mts.h>
#include <mts/mtsz.h>

#define SIZE_STAYS(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " has another size")

#if UINTPTR_MAX == 0xffffffffffffffffu
SIZE_STAYS(mts_tensor, 72);
SIZE_STAYS(mts_region, 80);
SIZE_STAYS(mts_cache_use, 20);
SIZE_STAYS(mts_kit_detection, 96);
SIZE_STAYS(mts_kit_landmark, 20);
SIZE_STAYS(mts_kit_roi, 20);
SIZE_STAYS(mts_kit_map, 48);
SIZE_STAYS(mts_kit_class, 8);
SIZE_STAYS(mtsz_train_candidate, 24);
/* These have a size, but other structs hold them, not as the last field. */
SIZE_STAYS(mts_kit_nms_options, 24);
SIZE_STAYS(mtsc_summary, 48);
#endif

int mts_header_test(void);
