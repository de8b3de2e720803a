/*
 * view.c: see view.h.
 */
#include "view.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct view {
    pthread_mutex_t lock;
    results newest;
    char sentence[256];
    int64_t keep_until; /* ms; of a failure */
};

view *view_create(void)
{
    view *made = calloc(1, sizeof *made);
    if (made && pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        made = NULL;
    }
    return made;
}

void view_destroy(view **self)
{
    if (self && *self) {
        (void)pthread_mutex_destroy(&(*self)->lock);
        free(*self);
        *self = NULL;
    }
}

/* A text that was cut may end within a character of several bytes, which Java would
   refuse. */
static void end_at_character(char *text)
{
    size_t length = strlen(text), start = length;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) {
        start--;
    }
    if (start == 0) {
        return;
    }
    const unsigned char lead = (unsigned char)text[start - 1];
    const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (length - (start - 1) < bytes) {
        text[start - 1] = '\0';
    }
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Under the lock. */
static void set_sentence(view *self, const char *sentence, int64_t keep_until)
{
    (void)snprintf(self->sentence, sizeof self->sentence, "%s", sentence);
    end_at_character(self->sentence);
    self->keep_until = keep_until;
}

void view_tell(view *self, const char *sentence)
{
    (void)pthread_mutex_lock(&self->lock);
    set_sentence(self, sentence, 0);
    (void)pthread_mutex_unlock(&self->lock);
}

void view_tell_failure(view *self, const char *sentence)
{
    (void)pthread_mutex_lock(&self->lock);
    set_sentence(self, sentence, now_ms() + VIEW_FAILURE_MS);
    (void)pthread_mutex_unlock(&self->lock);
}

void view_tell_progress(view *self, const char *sentence)
{
    (void)pthread_mutex_lock(&self->lock);
    if (now_ms() >= self->keep_until) {
        set_sentence(self, sentence, 0);
    }
    (void)pthread_mutex_unlock(&self->lock);
}

void view_show(view *self, const results *newest)
{
    (void)pthread_mutex_lock(&self->lock);
    self->newest = *newest;
    (void)pthread_mutex_unlock(&self->lock);
}

void view_text(view *self, char *out, size_t size)
{
    (void)pthread_mutex_lock(&self->lock);
    (void)snprintf(out, size, "%s%s", self->newest.text, self->sentence);
    (void)pthread_mutex_unlock(&self->lock);
    end_at_character(out);
}

uint32_t view_boxes(view *self, results_box out[RESULTS_BOXES])
{
    (void)pthread_mutex_lock(&self->lock);
    const uint32_t count = self->newest.box_count;
    memcpy(out, self->newest.boxes, count * sizeof *out);
    (void)pthread_mutex_unlock(&self->lock);
    return count;
}
