/*
 * inflate.c: unpacks deflate streams. Codes are read bit by bit, which is small rather
 * than fast: about 50 MB a second. Not responsible for headers and checksums around a
 * stream (gzip, zlib).
 */
#include "base/inflate.h"

#include <stdint.h>
#include <string.h>

enum {
    CODE_BITS = 15,
    LITERALS = 288,
    DISTANCES = 30,
    END_OF_BLOCK = 256,
};

typedef struct stream {
    const unsigned char *at, *end;
    uint32_t bits, bit_count; /* read from `at`, and not used yet */
    bool failed;
    unsigned char *out;
    size_t done, size;
} stream;

/* A canonical Huffman code: symbols in the order of their codes, and how many codes each
   length has. */
typedef struct code {
    uint16_t count[CODE_BITS + 1], symbol[LITERALS];
} code;

/* The next bits, the first one lowest; at most 16. */
static uint32_t take(stream *s, uint32_t count)
{
    while (s->bit_count < count) {
        if (s->at == s->end) {
            s->failed = true;
            return 0;
        }
        s->bits |= (uint32_t)*s->at++ << s->bit_count;
        s->bit_count += 8;
    }
    const uint32_t value = s->bits & ((1u << count) - 1);
    s->bits >>= count;
    s->bit_count -= count;
    return value;
}

static void code_make(stream *s, const uint8_t *lengths, uint32_t count, code *out)
{
    memset(out->count, 0, sizeof out->count);
    for (uint32_t i = 0; i < count; i++) {
        out->count[lengths[i]]++;
    }
    out->count[0] = 0;
    uint16_t next[CODE_BITS + 2] = {0};
    uint32_t free_codes = 1;
    for (uint32_t n = 1; n <= CODE_BITS; n++) {
        free_codes = free_codes * 2;
        s->failed = s->failed || out->count[n] > free_codes;
        free_codes -= s->failed ? 0 : out->count[n];
        next[n + 1] = (uint16_t)(next[n] + out->count[n]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (lengths[i]) {
            out->symbol[next[lengths[i]]++] = (uint16_t)i;
        }
    }
}

static uint32_t next_symbol(stream *s, const code *c)
{
    uint32_t value = 0, first = 0, index = 0;
    for (uint32_t n = 1; n <= CODE_BITS && !s->failed; n++) {
        value |= take(s, 1);
        if (value < first + c->count[n]) {
            return s->failed ? 0 : c->symbol[index + value - first];
        }
        index += c->count[n];
        first = (first + c->count[n]) * 2;
        value *= 2;
    }
    s->failed = true;
    return 0;
}

static void put(stream *s, unsigned char byte)
{
    if (s->done < s->size) {
        s->out[s->done++] = byte;
    }
}

/* Lengths and distances grow by powers of two: `steps` codes for each. */
static uint32_t take_range(stream *s, uint32_t symbol, uint32_t steps, uint32_t least)
{
    if (symbol < 2 * steps) {
        return symbol + least;
    }
    const uint32_t extra = symbol / steps - 1;
    return ((steps + symbol % steps) << extra) + take(s, extra) + least;
}

static void copy_back(stream *s, uint32_t symbol, const code *distances)
{
    const uint32_t length = symbol == LITERALS - 3 ? 258 : take_range(s, symbol - END_OF_BLOCK - 1, 4, 3);
    const uint32_t distance_symbol = next_symbol(s, distances);
    const uint32_t distance = take_range(s, distance_symbol, 2, 1);
    if (s->failed || symbol > LITERALS - 3 || distance_symbol >= DISTANCES || distance > s->done) {
        s->failed = true;
        return;
    }
    for (uint32_t i = 0; i < length && s->done < s->size; i++) {
        put(s, s->out[s->done - distance]);
    }
}

static void read_block(stream *s, const code *literals, const code *distances)
{
    while (!s->failed && s->done < s->size) {
        const uint32_t symbol = next_symbol(s, literals);
        if (symbol == END_OF_BLOCK) {
            return;
        }
        if (symbol > END_OF_BLOCK) {
            copy_back(s, symbol, distances);
        } else if (!s->failed) {
            put(s, (unsigned char)symbol);
        }
    }
}

static void read_stored(stream *s)
{
    s->bits = 0; /* the rest of a byte */
    s->bit_count = 0;
    const uint32_t length = take(s, 16), complement = take(s, 16);
    s->failed = s->failed || (length ^ complement) != 0xffff;
    for (uint32_t i = 0; i < length && !s->failed; i++) {
        put(s, (unsigned char)take(s, 8));
    }
}

static void read_fixed(stream *s)
{
    uint8_t lengths[LITERALS];
    memset(lengths, 8, sizeof lengths);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    code literals, distances;
    code_make(s, lengths, LITERALS, &literals);
    memset(lengths, 5, DISTANCES);
    code_make(s, lengths, DISTANCES, &distances);
    read_block(s, &literals, &distances);
}

/* Lengths of codes, themselves coded: 16 repeats the last one, 17 and 18 are runs of
   zeros. */
static void read_lengths(stream *s, const code *lengths_code, uint8_t *lengths, uint32_t count)
{
    for (uint32_t n = 0; n < count && !s->failed;) {
        const uint32_t symbol = next_symbol(s, lengths_code);
        if (symbol < 16) {
            lengths[n++] = (uint8_t)symbol;
            continue;
        }
        const uint32_t run = symbol == 16 ? 3 + take(s, 2) : symbol == 17 ? 3 + take(s, 3) : 11 + take(s, 7);
        if (run > count - n || (symbol == 16 && n == 0)) {
            s->failed = true;
            return;
        }
        memset(lengths + n, symbol == 16 ? lengths[n - 1] : 0, run);
        n += run;
    }
}

static void read_dynamic(stream *s)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const uint32_t literal_count = 257 + take(s, 5), distance_count = 1 + take(s, 5),
                   order_count = 4 + take(s, 4);
    uint8_t lengths[LITERALS + 32] = {0};
    if (literal_count > LITERALS - 2 || distance_count > DISTANCES) {
        s->failed = true;
        return;
    }
    for (uint32_t i = 0; i < order_count; i++) {
        lengths[order[i]] = (uint8_t)take(s, 3);
    }
    code literals, distances;
    code_make(s, lengths, 19, &literals);
    memset(lengths, 0, sizeof lengths);
    read_lengths(s, &literals, lengths, literal_count + distance_count);
    code_make(s, lengths, literal_count, &literals);
    code_make(s, lengths + literal_count, distance_count, &distances);
    read_block(s, &literals, &distances);
}

bool mts_inflate(const unsigned char *packed, size_t packed_size, unsigned char *out, size_t size)
{
    stream s = {.at = packed, .end = packed + packed_size, .out = out, .size = size};
    for (bool last = false; !last && !s.failed && s.done < size;) {
        last = take(&s, 1);
        const uint32_t kind = take(&s, 2);
        if (kind == 0) {
            read_stored(&s);
        } else if (kind == 1) {
            read_fixed(&s);
        } else if (kind == 2) {
            read_dynamic(&s);
        } else {
            s.failed = true;
        }
    }
    return !s.failed && s.done == size;
}
