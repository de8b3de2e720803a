/*
 * image_stb.c: the formats of stb_image, which trusts what it reads: in a child process, so
 * that a file breaks no more than that. The child has limits of memory and time, and what it
 * sends back is bounded before it is read.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decoders.h"
#include "measure.h"

#include <stb/stb_image.h>

#define SECONDS_MOST 20
#define MEMORY_LEAST ((uint64_t)64 << 20) /* for the child's own needs */
#define MEMORY_PER_PIXEL 32u
#define INTERRUPTIONS_MOST 1000

/* What the child says before the pixels. */
typedef struct answer {
    uint32_t width, height; /* 0: there are none */
    char reason[CLI_REASON];
} answer;

/* Of this process, from now on; sanitizers reserve more than any limit. */
static void limit_memory(uint64_t more)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)more;
#else
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    const bool known = file && fscanf(file, "%llu", &pages) == 1;
    if (file) {
        (void)fclose(file);
    }
    if (known) {
        const rlim_t most = (rlim_t)(pages * (unsigned long long)sysconf(_SC_PAGESIZE) + more);
        (void)setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    }
#endif
}

/* stb_image refuses a large PNG without saying that its size is why. */
static bool png_size_check(const unsigned char *file, size_t size, char *reason)
{
    uint32_t sides[2] = {0, 0};
    if (size < 24 || memcmp(file, "\x89PNG\r\n\x1a\n", 8) != 0 || memcmp(file + 12, "IHDR", 4) != 0) {
        return true;
    }
    for (int i = 0; i < 8; i++) {
        sides[i / 4] = sides[i / 4] << 8 | file[16 + i];
    }
    return cli_image_size_check(sides[0], sides[1], reason);
}

static bool stb_size(const unsigned char *file, size_t size, uint32_t *width, uint32_t *height, char *reason)
{
    int columns = 0;
    int rows = 0;
    int channels = 0;
    if (!png_size_check(file, size, reason)) {
        return false;
    }
    if (size == 0 || size > INT_MAX || !stbi_info_from_memory(file, (int)size, &columns, &rows, &channels) ||
        columns <= 0 || rows <= 0) {
        (void)snprintf(reason, CLI_REASON, "is no picture that can be read (%s)", CLI_IMAGE_FORMATS);
        return false;
    }
    *width = (uint32_t)columns;
    *height = (uint32_t)rows;
    return cli_image_size_check(*width, *height, reason);
}

static bool decode(const unsigned char *file, size_t size, bool limited, cli_image *image, char *reason)
{
    int columns = 0;
    int rows = 0;
    int channels = 0;
    *image = (cli_image){0};
    if (!stb_size(file, size, &image->width, &image->height, reason)) {
        return false;
    }
    if (limited) {
        limit_memory(MEMORY_LEAST + 2 * (uint64_t)size +
                     MEMORY_PER_PIXEL * (uint64_t)image->width * image->height);
    }
    image->pixels = stbi_load_from_memory(file, (int)size, &columns, &rows, &channels, 3);
    if (!image->pixels || (uint32_t)columns != image->width || (uint32_t)rows != image->height) {
        (void)snprintf(reason, CLI_REASON, "is a damaged picture: %s",
                       image->pixels ? "it has two sizes" : stbi_failure_reason());
        cli_image_release(image);
        return false;
    }
    return true;
}

bool cli_stb_decode(const unsigned char *file, size_t size, cli_image *image, char *reason)
{
    return decode(file, size, false, image, reason);
}

/* ---- the child ---- */

static void send_all(int to, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t wrote = write(to, (const char *)data + done, size - done);
        if (wrote <= 0) {
            _exit(1);
        }
        done += (size_t)wrote;
    }
}

static void run_child(int to, const unsigned char *file, size_t size)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGXCPU, SIGPIPE};
    answer said = {0};
    cli_image image;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        (void)signal(signals[i], SIG_DFL);
    }
    (void)setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS_MOST, SECONDS_MOST});
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
    const bool done = decode(file, size, true, &image, said.reason);
    said.width = done ? image.width : 0;
    said.height = done ? image.height : 0;
    send_all(to, &said, sizeof said);
    if (done) {
        send_all(to, image.pixels, (size_t)image.width * image.height * 3);
    }
    _exit(0);
}

/* ---- the parent ---- */

/* False: the other side has ended, or time is over. */
static bool receive_all(int from, void *data, size_t size, double end_ms)
{
    size_t done = 0;
    for (int interrupted = 0; done < size && interrupted < INTERRUPTIONS_MOST;) {
        const double left = end_ms - cli_now_ms();
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (left <= 0.0 || (poll(&ready, 1, (int)left + 1) < 0 && errno != EINTR)) {
            return false;
        }
        const ssize_t got = ready.revents ? read(from, (char *)data + done, size - done) : 0;
        if (ready.revents && (got == 0 || (got < 0 && errno != EINTR))) {
            return false;
        }
        interrupted += got <= 0 ? 1 : 0;
        done += got > 0 ? (size_t)got : 0;
    }
    return done == size;
}

static bool receive(int from, cli_image *image, char *reason)
{
    answer said;
    const double end_ms = cli_now_ms() + 1000.0 * (SECONDS_MOST + 5);
    if (!receive_all(from, &said, sizeof said, end_ms)) {
        return false;
    }
    said.reason[CLI_REASON - 1] = '\0';
    if (said.width == 0) {
        (void)snprintf(reason, CLI_REASON, "%s", said.reason);
        return false;
    }
    if (!cli_image_size_check(said.width, said.height, reason) ||
        !cli_image_make(image, said.width, said.height, reason)) {
        return false;
    }
    if (!receive_all(from, image->pixels, (size_t)said.width * said.height * 3, end_ms)) {
        cli_image_release(image);
        return false;
    }
    return true;
}

static void end_child(pid_t child)
{
    int status = 0;
    (void)kill(child, SIGKILL); /* it has said all, or nothing more is wanted of it */
    for (int tries = 0; waitpid(child, &status, 0) < 0 && errno == EINTR && tries < INTERRUPTIONS_MOST;) {
        tries++;
    }
}

bool cli_stb_decode_apart(const unsigned char *file, size_t size, cli_image *image, char *reason)
{
    int ends[2];
    *image = (cli_image){0};
    (void)snprintf(reason, CLI_REASON, "is a damaged picture: its decoder failed, or took too long");
    if (pipe(ends) != 0) {
        (void)snprintf(reason, CLI_REASON, "cannot be decoded: %s", strerror(errno));
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        run_child(ends[1], file, size);
    }
    (void)close(ends[1]);
    if (child < 0) {
        (void)snprintf(reason, CLI_REASON, "cannot be decoded: %s", strerror(errno));
    }
    const bool done = child > 0 && receive(ends[0], image, reason);
    (void)close(ends[0]);
    if (child > 0) {
        end_child(child);
    }
    return done;
}
