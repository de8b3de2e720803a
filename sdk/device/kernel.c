/*
 * kernel.c: the program text of a kernel as a whole, unpacked. The table of kernels is generated.
 */
#include "device/kernel.h"

#include <string.h>

#include "base/hash.h"

enum { CODE_FIRST = 128, CODES = 128 };

typedef struct word_list {
    const char *word[CODES]; /* NULL: none */
    size_t length[CODES];
} word_list;

/* Returns the bytes that all words take. */
static size_t words_read(word_list *list)
{
    const char *words = mts_kernel_words(), *at = words;
    *list = (word_list){.word = {NULL}};
    for (size_t n = 0; n < CODES && *at; n++) {
        list->word[n] = at;
        list->length[n] = strlen(at);
        at += list->length[n] + 1;
    }
    return (size_t)(at - words);
}

/* Returns the length of the unpacked text, which is written where `to` is not NULL. */
static size_t unpack(const word_list *list, const char *packed, char *to)
{
    size_t length = 0;
    for (; packed && *packed; packed++) {
        const unsigned char code = (unsigned char)*packed;
        const char *word = code >= CODE_FIRST ? list->word[code - CODE_FIRST] : NULL;
        const size_t count = word ? list->length[code - CODE_FIRST] : 1;
        if (to) {
            memcpy(to + length, word ? word : packed, count);
        }
        length += count;
    }
    return length;
}

size_t mts_kernel_length(const mts_kernel_source *kernel)
{
    word_list list;
    (void)words_read(&list);
    return unpack(&list, kernel->head, NULL) + unpack(&list, kernel->source, NULL);
}

uint64_t mts_kernel_hash(const mts_kernel_source *kernel, uint64_t seed)
{
    word_list list;
    seed = mts_hash(mts_kernel_words(), words_read(&list), seed);
    if (kernel->head) {
        seed = mts_hash(kernel->head, strlen(kernel->head), seed);
    }
    return mts_hash(kernel->source, strlen(kernel->source), seed);
}

char *mts_kernel_text(const mts_kernel_source *kernel, const mts_allocator *allocator)
{
    word_list list;
    (void)words_read(&list);
    const size_t head = unpack(&list, kernel->head, NULL);
    const size_t length = head + unpack(&list, kernel->source, NULL);
    char *text = mts_alloc_zero(allocator, length + 1, 1);
    if (text) {
        (void)unpack(&list, kernel->head, text);
        (void)unpack(&list, kernel->source, text + head);
    }
    return text;
}
