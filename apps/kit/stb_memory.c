/*
 * stb_memory.c: see stb_memory.h.
 */
#include "stb_memory.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#include <stb/stb_image_write.h>

typedef union block block;
union block {
    struct {
        block *before, *after;
    } links;
    max_align_t align;
};

typedef struct writer {
    jmp_buf out;
    block *blocks;
} writer;

/* Of the thread; only cli_stb_png makes it active, elsewhere memory is what malloc gives. */
static _Thread_local writer self;
static _Thread_local bool active;

static void unlink_block(block *one)
{
    if (one->links.before) {
        one->links.before->links.after = one->links.after;
    } else if (self.blocks == one) {
        self.blocks = one->links.after;
    }
    if (one->links.after) {
        one->links.after->links.before = one->links.before;
    }
}

void *cli_stb_take(void *old, size_t size)
{
    block *before = old ? (block *)old - 1 : NULL;
    if (before) {
        unlink_block(before);
    }
    block *one = size < SIZE_MAX - sizeof *one ? realloc(before, sizeof *one + size) : NULL;
    if (!one) {
        free(before);
        if (active) {
            longjmp(self.out, 1);
        }
        return NULL;
    }
    one->links.before = NULL;
    one->links.after = active ? self.blocks : NULL;
    if (one->links.after) {
        one->links.after->links.before = one;
    }
    self.blocks = active ? one : self.blocks;
    return one + 1;
}

void cli_stb_give(void *memory)
{
    if (memory) {
        unlink_block((block *)memory - 1);
        free((block *)memory - 1);
    }
}

bool cli_stb_png(const cli_image *image, void (*write)(void *context, void *data, int size), void *context)
{
    volatile bool written = false;
    const int width = (int)image->width;
    self.blocks = NULL;
    active = true;
    if (setjmp(self.out) == 0) {
        written = stbi_write_png_to_func(write, context, width, (int)image->height, 3, image->pixels,
                                         width * 3) != 0;
    }
    active = false;
    while (self.blocks) {
        block *next = self.blocks->links.after;
        free(self.blocks);
        self.blocks = next;
    }
    return written;
}
