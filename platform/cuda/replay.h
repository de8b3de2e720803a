/*
 * replay.h: command lists as CUDA graphs, submitted to the stream with one call.
 *
 * A driver without graphs, or one that fails to make one, is an ordinary answer: the
 * command list is then submitted launch by launch, which gives the same bits.
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
/* All within enter and leave. Makes the graph of a command list whose launches are ready;
 * if that fails the list has none. */
void mts_cu_replay_record(mts_cu_device *device, mts_cu_command_list *list);
/* Changes the graph's node of launch `index` to what the launch is now; if that fails the
   graph is released. */
void mts_cu_replay_update(mts_cu_device *device, mts_cu_command_list *list, size_t index);
/* *submitted false: nothing was enqueued, the launches have to be. Fails only if the
   device is lost. */
mts_status mts_cu_replay_submit(mts_cu_device *device, mts_cu_command_list *list, bool *submitted,
                                mts_error *error);
void mts_cu_replay_release(mts_cu_device *device, mts_cu_command_list *list);

#endif
