/*
 * quirks.c: the one table of driver quirks. A row needs a measured or documented reason.
 */
#include "platform/opencl/quirks.h"

#include <stddef.h>
#include <string.h>

static const mts_cl_quirks table[] = {
    /* One GPU draws the screen and computes: long batches make frames late (Adreno 740:
       95th percentile of a frame 123 ms without, 7 ms with a flush every few kernels). */
    {.match = "Adreno", .flush_every = 4, .options = ""},
    /* Groups of 256 failed at run time although the driver offered them; 128 ran. */
    {.match = "Mali", .work_group_most = 128, .options = ""},
    /* The simulator looks at the source as it stands: it lacks intrinsics that
       optimisation and forced inlining (kernels/prelude.h, for clang) bring in, and its
       binaries are not devices' code. */
    {.match = "Oclgrind", .no_binaries = true, .options = "-cl-opt-disable -U__clang__"},
    /* Its recorded command lists are taken apart again at every submission: 10 to 30 %
       more time to submit 100 to 900 launches, none gained, on the same processor in
       turns. CLBlast's products take 14 to 70 times as long as our kernels on pruned
       ResNet50 (on large ones they reach 20 GFLOP/s of 340), and the first takes 19 s to
       build. What the host writes into a buffer's memory between two runs is read without
       a map. The compilers of both runtimes for processors have the instruction that
       FETCH (kernels/prelude.h) asks for. */
    {.match = "Portable Computing Language",
     .no_replay = true,
     .no_gemm = true,
     .host_buffers = true,
     .options = "-DFETCH=1"},
    /* Intel's runtime for processors (its GPUs' platforms have longer names): a buffer
       over host memory is that memory, as on PoCL, but only where the memory is aligned
       as CL_DEVICE_MEM_BASE_ADDR_ALIGN says (1024 bits). Of other memory the runtime of
       2026 keeps a copy, and runs would see what lay there first. */
    {.match = "Intel(R) OpenCL|", .host_buffers = true, .host_alignment = 128, .options = "-DFETCH=1"},
    /* clFinish returns before commands that clFlush handed over have run (Mesa 22.3); a
       marker's event waits for them. Its compiler ends the process where it meets an
       instruction that asks for memory beforehand. */
    {.match = "rusticl", .finish_by_marker = true, .options = ""},
    {.match = "", .options = ""},
};

const mts_cl_quirks *mts_cl_quirks_find(const char *identity)
{
    size_t i = 0;
    while (!strstr(identity, table[i].match)) { /* ends at the last row */
        i++;
    }
    return &table[i];
}
