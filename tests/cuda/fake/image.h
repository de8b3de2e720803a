/*
 * image.h: what the fake runtime compiler hands out, and the fake driver takes: a shared library of this
 * machine with a header, as the bytes of a "cubin" or as the text of a "PTX" program.
 */
#ifndef MTS_TESTS_CUDA_FAKE_IMAGE_H
#define MTS_TESTS_CUDA_FAKE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fake_image {
    unsigned char elf[64]; /* an ELF header that says where the image ends */
    char magic[8];
    uint32_t arch;
    uint32_t version; /* of the CUDA that made it */
    uint64_t size;    /* of what follows */
    uint64_t hash;    /* of what follows, seeded by emulate.h: programs made with another one do not load */
} fake_image;

/* On the heap; NULL: no memory. The text ends with a zero, which *size counts, as NVRTC's does. */
char *fake_image_make(uint32_t arch, uint32_t version, const void *code, size_t size, size_t *image_size);
char *fake_image_to_text(const void *image, size_t *size);
/* The image that a text holds, on the heap; NULL: it is none. */
char *fake_image_from_text(const char *text, size_t size, size_t *image_size);
bool fake_image_is_text(const void *data);
/* Whether data, of unknown size, is an image that holds together; then its header is in *out. */
bool fake_image_check(const void *data, fake_image *out);

#endif
