/*
 * cpu.h: objects of the "cpu" backend, shared by the files of this folder.
 */
#ifndef MTS_CPU_CPU_H
#define MTS_CPU_CPU_H

#include "kernels/item.h"
#include "platform/cpu/helpers.h"
#include "platform/cpu/pool.h"
#include "platform/cpu/schedule.h"
#include "platform/cpu/sets.h"
#include "platform/host/host.h"

typedef struct mts_cpu_device {
    mts_device base;
    const mts_cpu_set *set;
    mts_cpu_pool *pool;
    /* Largest LOCAL_SCRATCH of the kernels that were created, in bytes. */
    size_t scratch_wanted;
    /* One for each thread, `scratch_size` bytes apart; at least as large as every command
       list needs. */
    unsigned char *scratch;
    void *scratch_block;
    size_t scratch_size;
} mts_cpu_device;

typedef struct mts_cpu_kernel {
    mts_kernel base;
    mts_cpu_function *run;
} mts_cpu_kernel;

typedef struct mts_cpu_list {
    mts_command_list base;
    mts_launch *launches;
    mts_cpu_schedule schedule;
    mts_cpu_helpers helpers;
} mts_cpu_list;

/* kernel.c */
mts_status mts_cpu_kernel_create(mts_device *device, const mts_kernel_desc *desc, mts_kernel **out,
                                 mts_error *error);
void mts_cpu_kernel_destroy(mts_device *device, mts_kernel *kernel);

/* list.c */
extern const mts_cpu_pool_calls mts_cpu_list_calls;
mts_status mts_cpu_list_create(mts_device *device, const mts_launch *launches, size_t count,
                               mts_command_list **out, mts_error *error);
void mts_cpu_list_destroy(mts_device *device, mts_command_list *list);
mts_status mts_cpu_list_update(mts_device *device, mts_command_list *list, const mts_launch *launches,
                               size_t count, mts_error *error);
mts_status mts_cpu_list_submit(mts_device *device, mts_command_list *list, mts_error *error);
mts_status mts_cpu_list_profile(mts_device *device, mts_command_list *list, mts_launch_time *times,
                                size_t count, mts_error *error);
mts_status mts_cpu_list_trace(mts_device *device, mts_command_list *list, mts_chunk_time *chunks,
                              size_t capacity, size_t *count, mts_error *error);

#endif
