/*
 * libFuzzer target: sequences of calls of the public API, with right and wrong arguments, and from within the callback.
 * Memory is counted: none is left when everything is destroyed.
 */
#include <string.h>

#include "fuzz/fuzz_bytes.h"
#include "fuzz/fuzz_world.h"

#define SESSIONS 3
#define STEPS_MOST 60
#define SIDE 40

static size_t alive;
static char text[300];
static fuzz_bytes in;
static mts_session *current;
static int inside;
static uint8_t pixels[SIDE * SIDE * 4];
static float numbers[2 * SIDE * SIDE * 3];

static void *take(void *context, size_t size)
{
    (void)context;
    void *memory = malloc(size);
    alive += memory != NULL;
    return memory;
}

static void give(void *context, void *memory)
{
    (void)context;
    alive -= memory != NULL;
    free(memory);
}

static const char *name(void)
{
    static const char *const names[] = {"a", "b", "c", "", NULL};
    return names[fuzz_u8(&in) % 5];
}

static mts_frame frame_take(void)
{
    mts_frame frame;
    mts_frame_default(&frame);
    frame.data = pixels;
    frame.width = 1 + fuzz_u8(&in) % SIDE;
    frame.height = 1 + fuzz_u8(&in) % SIDE;
    frame.format = (mts_pixel_format)(fuzz_u8(&in) % 10);
    frame.zero_copy = fuzz_u8(&in) % 2;
    return frame;
}

static void done(void *context, mts_ticket ticket, mts_status status)
{
    mts_tensor output;
    mts_session *copy = current;
    (void)context;
    (void)status;
    if (!current || inside) {
        return;
    }
    inside = 1;
    switch (fuzz_u8(&in) % 8) {
    case 0:
        (void)mts_session_output(current, "a", 0, &output);
        break;
    case 1:
        (void)mts_session_submit(current, NULL, &ticket);
        break;
    case 2:
        (void)mts_session_wait(current, ticket, 0);
        break;
    case 3:
        (void)mts_session_enable(current, "b", fuzz_u8(&in) % 2);
        break;
    case 4:
        (void)mts_session_rate(current, "a", 1 + fuzz_u8(&in) % 3);
        break;
    case 5:
        (void)mts_session_cancel(current, ticket);
        break;
    case 6:
        mts_session_destroy(&copy); /* refused inside the callback */
        if (!copy) {
            abort();
        }
        break;
    default:
        (void)mts_session_deadline(current, fuzz_u8(&in));
    }
    inside = 0;
}

static void make_session(mts_runtime *runtime, mts_bundle *bundle, mts_session **out)
{
    static uint32_t priorities[2];
    const char *tasks[2] = {name(), name()};
    mts_session_options options;
    mts_session_options_default(&options);
    options.strategy = (mts_strategy)fuzz_size(&in, 4);
    options.precision = (mts_precision)fuzz_size(&in, 3);
    options.separate_inputs = fuzz_size(&in, 1);
    options.zero_copy_inputs = fuzz_size(&in, 1);
    options.frames_in_flight = fuzz_size(&in, 4);
    options.when_full = (mts_when_full)fuzz_size(&in, 2);
    options.done = fuzz_u8(&in) % 2 ? done : NULL;
    options.memory_budget = fuzz_u8(&in) % 4 == 0 ? fuzz_u32(&in) : 0;
    if (fuzz_u8(&in) % 3 == 0) {
        options.tasks = tasks;
        options.task_count = fuzz_u8(&in) % 3;
    }
    if (fuzz_u8(&in) % 3 == 0) {
        priorities[0] = fuzz_size(&in, 3);
        options.priorities = priorities;
    }
    const mts_status status = mts_session_create(runtime, bundle, &options, out);
    if ((status == MTS_STATUS_OK) != (*out != NULL) || status == MTS_STATUS_INTERNAL) {
        abort(); /* a finding */
    }
}

static void run_frames(mts_session *session, mts_ticket *last)
{
    mts_frame frame = frame_take();
    mts_ticket ticket = 0;
    mts_tensor tensor = {
        .data = numbers, .type = (mts_type)fuzz_size(&in, 3), .rank = 4, .dims = {1, 3, 8, 8}};
    tensor.bytes = fuzz_size(&in, 1) ? 768 : fuzz_size(&in, 2000);
    switch (fuzz_u8(&in) % 6) {
    case 0:
        (void)mts_session_input(session, name(), fuzz_size(&in, 2), &tensor);
        return;
    case 1:
        (void)mts_session_input_frame(session, name(), &frame);
        return;
    case 2:
        (void)mts_session_wait(session, fuzz_u8(&in) % 8 ? *last : fuzz_u32(&in),
                               fuzz_u8(&in) % 3 ? MTS_TIMEOUT_INFINITE : 0);
        return;
    case 3:
        (void)mts_session_poll(session, &ticket);
        return;
    default:
        if (mts_session_submit(session, fuzz_u8(&in) % 16 ? &frame : NULL, &ticket) == MTS_STATUS_OK) {
            *last = ticket;
        }
    }
}

static void ask(mts_session *session)
{
    mts_tensor output;
    mts_flow flow = {.size = sizeof flow};
    mts_task_stats stats = {.size = sizeof stats};
    mts_region regions[2] = {{.x = fuzz_u8(&in), .width = fuzz_u8(&in)}, {.height = fuzz_u8(&in)}};
    mts_ticket ticket = 0;
    size_t needed = 0;
    char report[400];
    switch (fuzz_u8(&in) % 9) {
    case 0:
        if (mts_session_output(session, name(), fuzz_size(&in, 1), &output) == MTS_STATUS_OK) {
            volatile float any = 0; /* a read of each number */
            for (size_t i = 0; i < output.bytes / sizeof(float); i++) {
                any = any + ((const float *)output.data)[i];
            }
        }
        break;
    case 1:
        (void)mts_session_flow(session, &flow);
        break;
    case 2:
        (void)mts_session_task_stats(session, name(), &stats);
        break;
    case 3:
        (void)mts_session_explain(session, (mts_report)fuzz_size(&in, 2), report,
                                  fuzz_u8(&in) % sizeof report, &needed);
        break;
    case 4:
        (void)mts_session_enable(session, name(), fuzz_size(&in, 1));
        break;
    case 5:
        (void)mts_session_rate(session, name(), fuzz_size(&in, 4));
        break;
    case 6:
        (void)mts_session_rate_hz(session, name(), (double)(int32_t)fuzz_u32(&in));
        break;
    case 7:
        (void)mts_session_regions(session, name(), regions, fuzz_size(&in, 2));
        break;
    default:
        (void)mts_session_output_ticket(session, name(), &ticket);
        (void)mts_session_cancel(session, fuzz_u32(&in));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mts_session *sessions[SESSIONS] = {NULL};
    mts_ticket last[SESSIONS] = {0};
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    in = (fuzz_bytes){data, size};
    mts_runtime_options_default(&options);
    options.device = fuzz_u8(&in) % 2 ? "reference" : "null";
    options.error_text = text;
    options.error_size = fuzz_u8(&in) % 4 ? sizeof text : 1;
    options.alloc = take;
    options.free = give;
    options.check = fuzz_u8(&in) % 2;
    const mts_bundle_bytes *bytes = fuzz_bundle();
    alive = 0;
    if (mts_runtime_create(&options, &runtime) == MTS_STATUS_OK) {
        (void)mts_bundle_open_memory(runtime, bytes->data, bytes->size, &bundle);
    }
    for (int step = 0; runtime && step < STEPS_MOST && in.left > 0; step++) {
        const uint32_t kind = fuzz_u8(&in) % 8, which = fuzz_u8(&in) % SESSIONS;
        current = sessions[which];
        if (!sessions[which]) {
            make_session(runtime, bundle, &sessions[which]);
        } else if (kind == 0) {
            mts_session_destroy(&sessions[which]);
            last[which] = 0;
        } else if (kind < 5) {
            run_frames(sessions[which], &last[which]);
        } else {
            ask(sessions[which]);
        }
    }
    for (int i = 0; i < SESSIONS; i++) {
        current = sessions[i];
        mts_session_destroy(&sessions[i]);
    }
    current = NULL;
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    if (alive != 0) {
        fprintf(stderr, "%zu blocks are left\n", alive);
        abort(); /* a finding */
    }
    return 0;
}
