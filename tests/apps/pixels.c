/*
 * pixels.c: a picture's pixels as the programs decode them, for tests in Python, which has no decoder: RGB,
 * dense.
 *
 *     pixels PHOTO OUT.ppm
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/image.h"

int main(int argc, char **argv)
{
    char error[CLI_ERROR] = "usage: pixels PHOTO OUT.ppm";
    cli_image image = {0};
    char head[64];
    unsigned char *file = NULL;
    bool done = argc == 3 && cli_image_read(argv[1], &image, error);
    if (done) {
        const size_t length =
            (size_t)snprintf(head, sizeof head, "P6\n%u %u\n255\n", image.width, image.height);
        const size_t bytes = (size_t)3 * image.width * image.height;
        file = malloc(length + bytes);
        done = file;
        if (done) {
            memcpy(file, head, length);
            memcpy(file + length, image.pixels, bytes);
            done = cli_file_write(argv[2], file, length + bytes, error);
        }
    }
    if (!done) {
        (void)fprintf(stderr, "pixels: %s\n", error);
    }
    free(file);
    cli_image_release(&image);
    return done ? 0 : 1;
}
