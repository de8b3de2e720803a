/*
 * view.c: see view.h.
 */
#include "view.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct view {
    pthread_mutex_t lock;
    results newest;
    char sentence[256];
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

/* A text that was cut may end within a character of several bytes, which Java would refuse. */
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

void view_tell(view *self, const char *sentence)
{
    (void)pthread_mutex_lock(&self->lock);
    (void)snprintf(self->sentence, sizeof self->sentence, "%s", sentence);
    end_at_character(self->sentence);
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
