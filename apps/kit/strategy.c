/*
 * strategy.c: see strategy.h.
 */
#include "strategy.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    mts_strategy strategy;
} strategies[] = {
    {"sequential", MTS_STRATEGY_SEQUENTIAL},
    {"compact", MTS_STRATEGY_COMPACT},
    {"netfuse", MTS_STRATEGY_NETFUSE},
    {"dense", MTS_STRATEGY_DENSE},
};

#define COUNT (sizeof strategies / sizeof strategies[0])

bool cli_strategy_find(const char *name, mts_strategy *out)
{
    *out = MTS_STRATEGY_COMPACT;
    for (size_t i = 0; name && i < COUNT; i++) {
        if (strcmp(strategies[i].name, name) == 0) {
            *out = strategies[i].strategy;
            return true;
        }
    }
    return !name;
}

const char *cli_strategy_name(mts_strategy strategy)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strategies[i].strategy == strategy) {
            return strategies[i].name;
        }
    }
    return "unknown";
}

const char *cli_strategy_list(char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < COUNT && length < size; i++) {
        const int added = snprintf(text + length, size - length, "%s%s", i ? ", " : "", strategies[i].name);
        length += added > 0 ? (size_t)added : 0;
    }
    return text;
}
