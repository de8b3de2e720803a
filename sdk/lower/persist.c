/*
 * persist.c: which launches a persistent program computes, and their tables.
 */
#include "lower/persist.h"

#include <string.h>

#include "base/size.h"
#include "base/text.h"
#include "device/dependencies.h"
#include "lower/encode.h"
#include "lower/launch_shape.h"
#include "lower/mix.h"

enum {
    LAUNCH_WORDS = MTS_PARAM_WORDS(mts_persist_launch),
    TABLE_WORDS = MTS_PARAM_WORDS(mts_persist_params),
    /* Counters begin at a multiple of so many words: they have cache lines of their own. */
    LINE_WORDS = 32,
    /* Tickets of a launch for each compute unit: its end has a tail of one of them. */
    TICKETS_PER_UNIT = 8,
    /* Looks at a counter before a wait has failed: some tenths of a second on a processor,
       whose loads come from a cache, some seconds on a GPU. */
    PATIENCE_CPU = 1 << 27,
    PATIENCE_GPU = 1 << 22,
    /* Of the meeting, which fails on GPUs that hold fewer groups. */
    PATIENCE_MEETING_CPU = 1 << 25,
    PATIENCE_MEETING_GPU = 1 << 20
};

typedef struct persister {
    mts_encoding *encoding;
    mts_persist *out;
    /* Options of all kernels. */
    const char *common;
    /* Of the blocks of convolutions that the program computes; NULL: none. */
    const char *block;
    /* Per launch: the number of its kernel, or MTS_NONE. */
    uint32_t *numbers;
    mts_dependencies after;
} persister;

/* ---- which launches ---- */

static bool is_flat(const mts_encoded_launch *launch)
{
    return launch->local[1] == 1 && launch->local[2] == 1 && launch->source == 0 && launch->sources[0] == 0 &&
           launch->accesses;
}

static uint32_t own_number(const char *kernel)
{
#define NAME(number, name)                                                                                   \
    if (strcmp(kernel, #name) == 0) {                                                                        \
        return number;                                                                                       \
    }
    MTS_PERSIST(NAME)
#undef NAME
    return MTS_NONE;
}

/* The number of a launch's kernel, whatever its work-groups are. */
static uint32_t number_of(const persister *p, const mts_encoded_launch *launch)
{
    if (launch->kind == MTS_LAUNCH_GEMM || !is_flat(launch)) {
        return MTS_NONE;
    }
    if (launch->kind == MTS_LAUNCH_MIXED) {
        return MTS_PERSIST_MIXED;
    }
    const uint32_t own = own_number(launch->kernel);
    if (own != MTS_NONE) {
        return own;
    }
    /* Members of functions and kinds of their own have programs of their own. */
    return launch->defines == p->common ? mts_mix_number(launch->kernel) : MTS_NONE;
}

/* The options that most launches of conv_block have; NULL: there is none. */
static const mts_encoded_launch *usual_block(const mts_encoding *l)
{
    const mts_encoded_launch *best = NULL;
    uint32_t most = 0;
    for (size_t i = 0; i < l->launch_count; i++) {
        const mts_encoded_launch *a = &l->launches[i];
        uint32_t count = 0;
        for (size_t k = 0; strcmp(a->kernel, "conv_block__f32_planar") == 0 && k < l->launch_count; k++) {
            const mts_encoded_launch *b = &l->launches[k];
            count += strcmp(a->kernel, b->kernel) == 0 && strcmp(a->defines, b->defines) == 0 ? 1 : 0;
        }
        best = count > most ? a : best;
        most = count > most ? count : most;
    }
    return best;
}

/*
 * Work-items of the program's groups: kernels that are built for groups of a size decide,
 * else the largest group does. The others compute the same with any.
 */
static uint32_t choose_items(const persister *p, const mts_encoded_launch *block)
{
    const mts_encoding *l = p->encoding;
    uint32_t most = 1;
    if (block) {
        return block->local[0];
    }
    for (size_t i = 0; i < l->launch_count; i++) {
        const mts_encoded_launch *launch = &l->launches[i];
        if (launch->kind == MTS_LAUNCH_BLOCKS && number_of(p, launch) != MTS_NONE) {
            return launch->local[0];
        }
        most = number_of(p, launch) != MTS_NONE && launch->local[0] > most ? launch->local[0] : most;
    }
    return most;
}

/* Whether the program with these groups computes a launch of a kernel that it has. */
static bool suits(const persister *p, const mts_encoded_launch *launch)
{
    const uint32_t items = p->out->items;
    if (launch->kind == MTS_LAUNCH_BLOCKS) {
        const bool convolves = strcmp(launch->kernel, "conv_block__f32_planar") == 0;
        return launch->local[0] == items && (!convolves || strcmp(launch->defines, p->block) == 0);
    }
    /* An entry has so many work-groups that work-items of its own size cover it. */
    return launch->kind == MTS_LAUNCH_MIXED      ? launch->local[0] <= items
           : launch->kind == MTS_LAUNCH_WINOGRAD ? items == 1
                                                 : true;
}

static void choose_launches(persister *p)
{
    const mts_encoding *l = p->encoding;
    const mts_encoded_launch *block = usual_block(l);
    p->block = block ? block->defines : NULL;
    p->out->items = choose_items(p, block);
    for (size_t i = 0; i < l->launch_count; i++) {
        const uint32_t number = number_of(p, &l->launches[i]);
        p->numbers[i] = number != MTS_NONE && suits(p, &l->launches[i]) ? number : MTS_NONE;
    }
}

/* Stretches of at least two launches that read one section of the weights. */
static void find_runs(persister *p)
{
    const mts_encoding *l = p->encoding;
    mts_persist *out = p->out;
    uint32_t end = 0;
    for (uint32_t first = 0; first < l->launch_count; first = end) {
        end = first + 1;
        while (p->numbers[first] != MTS_NONE && end < l->launch_count && p->numbers[end] != MTS_NONE &&
               l->launches[end].section == l->launches[first].section) {
            end++;
        }
        const uint32_t count = end - first;
        if (count > 1) {
            out->runs[out->run_count++] = (mts_persist_run){.first = first, .count = count};
        }
        out->launches++;
    }
}

/* ---- the program ---- */

/* Options of one kernel behind those of all. */
static const char *own_options(const persister *p, const char *defines)
{
    return defines + strlen(p->common);
}

/* Adds the options of a kernel of its own, with each first launch of it. */
static void add_options(const persister *p, const mts_encoded_launch *launch, uint32_t number, uint32_t known,
                        mts_text *text)
{
    if (number <= MTS_PERSIST_MIXED || (known & 1u << number) != 0) {
        return;
    }
    const char *own = own_options(p, launch->defines);
    const char *cases = strstr(own, " -DCASES=");
    if (launch->kind == MTS_LAUNCH_WINOGRAD && cases) {
        mts_text_add(text, "%.*s -DWINOGRAD_CASES=%s", (int)(cases - own), own, cases + strlen(" -DCASES="));
    } else if (launch->kind != MTS_LAUNCH_BLOCKS || strcmp(launch->defines, p->block ? p->block : "") == 0 ||
               !p->block) {
        mts_text_add(text, "%s", own);
    }
}

/* Bits of the kernels that a launch has entries of. */
static uint32_t members_of(const persister *p, uint32_t index)
{
    const mts_entries *e = &p->encoding->launches[index].entries;
    uint32_t bits = p->numbers[index] < MTS_PERSIST_MIXED ? 1u << p->numbers[index] : 0;
    for (uint32_t i = 0; p->numbers[index] == MTS_PERSIST_MIXED && i < e->count; i++) {
        mts_mixed_params entry;
        memcpy(&entry, p->encoding->params.words + e->first + (size_t)i * e->words, sizeof entry);
        bits |= 1u << entry.number;
    }
    return bits;
}

static mts_status make_defines(persister *p)
{
    mts_encoding *l = p->encoding;
    uint32_t known = 0, mixed = 0;
    mts_text text;
    mts_text_init(&text, l->arena->allocator);
    mts_text_add(&text, "%s -DITEMS=%u", p->common, p->out->items);
    for (uint32_t r = 0; r < p->out->run_count; r++) {
        for (uint32_t i = p->out->runs[r].first; i < p->out->runs[r].first + p->out->runs[r].count; i++) {
            const uint32_t number = p->numbers[i];
            add_options(p, &l->launches[i], number, known, &text);
            mixed |= members_of(p, i);
            known |= number > MTS_PERSIST_MIXED ? 1u << number : 0;
        }
    }
    mts_text_add(&text, " -DMIXED=%u -DPERSIST=%u", mixed, known);
    p->out->defines = text.failed ? NULL : mts_arena_string(l->strings, mts_text_get(&text));
    mts_text_release(&text);
    return p->out->defines ? MTS_STATUS_OK : mts_encode_memory(l);
}

/* ---- the tables ---- */

static uint32_t to_line(uint64_t words)
{
    return (uint32_t)((words + LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS);
}

/* Launches of a run that a launch of it waits for. */
static uint32_t count_waits(const persister *p, const mts_persist_run *run)
{
    uint32_t count = 0;
    for (uint32_t i = run->first; i < run->first + run->count; i++) {
        for (uint32_t k = p->after.next_first[i]; k < p->after.next_first[i + 1]; k++) {
            count += p->after.next[k] < run->first + run->count ? 1 : 0;
        }
    }
    return count;
}

static uint64_t words_of(const persister *p, const mts_persist_run *run)
{
    const uint64_t table = TABLE_WORDS + (uint64_t)run->count * LAUNCH_WORDS + count_waits(p, run);
    return (uint64_t)to_line(table) + to_line(MTS_PERSIST_DONE + (uint64_t)run->count);
}

static mts_persist_launch describe(const persister *p, uint32_t index)
{
    const mts_encoded_launch *launch = &p->encoding->launches[index];
    const mts_device_info *device = p->encoding->device;
    const bool by_group = launch->kind != MTS_LAUNCH_GRID; /* work-groups are what is counted */
    const uint32_t items = by_group ? launch->local[0] : p->out->items;
    const uint32_t units = device->compute_units > 0 ? device->compute_units : 1;
    mts_persist_launch made = {.number = p->numbers[index],
                               .first = launch->first,
                               .width = mts_u32_ceil_div(launch->global[0], items),
                               .height = launch->global[1]};
    made.groups = made.width * made.height * launch->global[2];
    made.share = mts_u32_ceil_div(made.groups, units * TICKETS_PER_UNIT);
    made.tickets = mts_u32_ceil_div(made.groups, made.share);
    return made;
}

/* The table of a run at word `at` of the region. */
static void write_table(const persister *p, mts_persist_run *run, uint32_t at)
{
    mts_persist *out = p->out;
    const uint32_t lists = at + TABLE_WORDS + run->count * LAUNCH_WORDS;
    mts_persist_params table = {.launches = run->count,
                                .failed = out->origin,
                                .patience = p->encoding->device->is_gpu ? PATIENCE_GPU : PATIENCE_CPU};
    uint32_t list = lists;
    const uint32_t word = out->origin + at;
    run->params = mts_param_buffer_add(&p->encoding->params, &word, 1);
    for (uint32_t i = 0; i < run->count; i++) {
        mts_persist_launch made = describe(p, run->first + i);
        made.begin = table.tickets;
        made.wait = out->origin + list;
        for (uint32_t before = 0; before < i; before++) {
            const uint32_t from = run->first + before;
            for (uint32_t k = p->after.next_first[from]; k < p->after.next_first[from + 1]; k++) {
                if (p->after.next[k] == run->first + i) {
                    out->words[list++] = before;
                    made.waits++;
                }
            }
        }
        table.tickets += made.tickets;
        memcpy(out->words + at + TABLE_WORDS + (size_t)i * LAUNCH_WORDS, &made, sizeof made);
    }
    table.state = out->origin + at + to_line(list - at);
    memcpy(out->words + at, &table, sizeof table);
}

static mts_status write_tables(persister *p, uint64_t origin)
{
    mts_encoding *l = p->encoding;
    mts_persist *out = p->out;
    uint64_t count = 3 * LINE_WORDS;
    for (uint32_t r = 0; r < out->run_count; r++) {
        count += words_of(p, &out->runs[r]);
    }
    origin = (origin + LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
    if (origin + count > UINT32_MAX) {
        return mts_fail(l->error, MTS_STATUS_LIMIT, "persistent launches: %llu words of activations",
                        (unsigned long long)(origin + count));
    }
    out->words = mts_arena_zero(l->arena, (size_t)count, sizeof *out->words);
    if (!out->words) {
        return mts_encode_memory(l);
    }
    out->origin = (uint32_t)origin;
    out->word_count = (uint32_t)count;
    const mts_persist_params table = {.state = out->origin + 2 * LINE_WORDS,
                                      .failed = out->origin,
                                      .patience =
                                          l->device->is_gpu ? PATIENCE_MEETING_GPU : PATIENCE_MEETING_CPU};
    const uint32_t word = out->origin + LINE_WORDS;
    out->meeting = mts_param_buffer_add(&l->params, &word, 1);
    memcpy(out->words + LINE_WORDS, &table, sizeof table);
    uint32_t at = 3 * LINE_WORDS;
    for (uint32_t r = 0; r < out->run_count; r++) {
        write_table(p, &out->runs[r], at);
        at += (uint32_t)words_of(p, &out->runs[r]);
    }
    return l->params.failed ? mts_encode_memory(l) : MTS_STATUS_OK;
}

static mts_status find_dependencies(persister *p)
{
    mts_encoding *l = p->encoding;
    mts_launch *launches = mts_arena_zero(l->arena, l->launch_count, sizeof *launches);
    if (!launches) {
        return mts_encode_memory(l);
    }
    for (size_t i = 0; i < l->launch_count; i++) {
        launches[i].accesses = l->launches[i].accesses;
        launches[i].access_count = l->launches[i].access_count;
    }
    return mts_dependencies_find(launches, l->launch_count, l->arena->allocator, &p->after, l->error);
}

mts_status mts_persist_make(mts_encoding *encoding, uint64_t origin, mts_persist *out)
{
    persister p = {.encoding = encoding,
                   .out = out,
                   .common = mts_launch_defines(encoding->device, encoding->precision)};
    *out = (mts_persist){0};
    p.numbers = mts_arena_zero(encoding->arena, encoding->launch_count, sizeof *p.numbers);
    out->runs = mts_arena_zero(encoding->strings, encoding->launch_count / 2 + 1, sizeof *out->runs);
    if (!p.numbers || !out->runs) {
        return mts_encode_memory(encoding);
    }
    choose_launches(&p);
    find_runs(&p);
    if (out->run_count == 0) {
        return MTS_STATUS_OK;
    }
    mts_status status = find_dependencies(&p);
    MTS_TRY(status, make_defines(&p));
    MTS_TRY(status, write_tables(&p, origin));
    mts_dependencies_release(&p.after, encoding->arena->allocator);
    return status;
}
