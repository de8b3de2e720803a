/*
 * replay.h: lists as CUDA graphs, handed to the stream with one call.
 *
 * A driver that cannot, or that fails to make one, is an ordinary answer: the list is then submitted launch
 * by launch, which gives the same bits.
 */
#ifndef MTS_PLATFORM_CUDA_REPLAY_H
#define MTS_PLATFORM_CUDA_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "platform/cuda/library.h"

typedef struct mts_cu_device mts_cu_device;
typedef struct mts_cu_command_list mts_cu_command_list;

/* Whether the driver has all that is needed. */
bool mts_cu_replay_has(const mts_cu_library *cu);
/* All within enter and leave. Records a list whose launches are made; if that fails it has no recording. */
void mts_cu_replay_record(mts_cu_device *device, mts_cu_command_list *list);
/* Tells the recording what launch `index` is now; if that fails there is no recording any more. */
void mts_cu_replay_update(mts_cu_device *device, mts_cu_command_list *list, size_t index);
/* *submitted false: nothing was enqueued, the launches have to be. Fails only if the device is lost. */
mts_status mts_cu_replay_submit(mts_cu_device *device, mts_cu_command_list *list, bool *submitted,
                                mts_error *error);
void mts_cu_replay_release(mts_cu_device *device, mts_cu_command_list *list);

#endif
