/*
 * inputs.c: random numbers for the inputs of tasks.
 */
#include "inputs.h"

#include <stdlib.h>

#include "kit/files.h"

static uint32_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* Ordinary numbers: neither zero nor denormal values, which processors treat
   differently. */
static void element_fill(mts_tensor *tensor, size_t i, uint64_t *state)
{
    const uint32_t bits = random_next(state);
    const double signed_one = ((double)(bits % 65536) + 0.5) / 32768.0 - 1.0;
    switch (tensor->type) {
    case MTS_TYPE_FLOAT32:
        ((float *)tensor->data)[i] = (float)signed_one;
        break;
    case MTS_TYPE_FLOAT64:
        ((double *)tensor->data)[i] = signed_one;
        break;
    case MTS_TYPE_FLOAT16: /* 0.5 to 1 with a sign */
        ((uint16_t *)tensor->data)[i] = (uint16_t)(0x3800u | (bits & 0x83ffu));
        break;
    case MTS_TYPE_INT32:
        ((int32_t *)tensor->data)[i] = (int32_t)(bits % 256);
        break;
    case MTS_TYPE_INT64:
        ((int64_t *)tensor->data)[i] = (int64_t)(bits % 256);
        break;
    case MTS_TYPE_UINT8:
        ((uint8_t *)tensor->data)[i] = (uint8_t)bits;
        break;
    case MTS_TYPE_INT8:
        ((int8_t *)tensor->data)[i] = (int8_t)((int)(bits % 256) - 128);
        break;
    case MTS_TYPE_UINT16:
    case MTS_TYPE_INT16:
        ((uint16_t *)tensor->data)[i] = (uint16_t)(bits % 256);
        break;
    case MTS_TYPE_BOOL:
        ((uint8_t *)tensor->data)[i] = (uint8_t)(bits & 1u);
        break;
    }
}

static bool input_make(const mts_port_desc *port, uint64_t seed, mts_tensor *out)
{
    size_t count = 1;
    *out = (mts_tensor){.type = port->type, .rank = port->rank};
    for (uint32_t d = 0; d < port->rank; d++) {
        out->dims[d] = port->dims[d];
        count *= (size_t)port->dims[d];
    }
    out->bytes = count * cli_type_size(port->type);
    out->data = malloc(out->bytes + 1);
    for (size_t i = 0; out->data && i < count; i++) {
        element_fill(out, i, &seed);
    }
    return out->data;
}

bool cli_inputs_make(cli_inputs *inputs, const mts_bundle *bundle, const char *const *names, uint32_t tasks,
                     bool common)
{
    *inputs =
        (cli_inputs){.tasks = tasks, .names = names, .tensors = calloc(tasks + 1, sizeof *inputs->tensors)};
    bool made = inputs->tensors;
    for (uint32_t t = 0; made && t < tasks; t++) {
        mts_port_desc port = {.size = sizeof port};
        uint32_t count = 0;
        while (mts_bundle_input(bundle, names[t], count, &port) == MTS_STATUS_OK) {
            count++;
        }
        inputs->tensors[t] = calloc(count + 1, sizeof **inputs->tensors);
        made = inputs->tensors[t];
        for (uint32_t i = 0; made && i < count; i++) {
            (void)mts_bundle_input(bundle, names[t], i, &port);
            made = input_make(&port, 1 + i + (common ? 0 : (uint64_t)t << 32), &inputs->tensors[t][i]);
        }
    }
    return made;
}

mts_status cli_inputs_set(const cli_inputs *inputs, mts_session *session)
{
    for (uint32_t t = 0; t < inputs->tasks; t++) {
        for (uint32_t i = 0; inputs->tensors[t][i].data; i++) {
            const mts_status status = mts_session_input(session, inputs->names[t], i, &inputs->tensors[t][i]);
            if (status != MTS_STATUS_OK) {
                return status;
            }
        }
    }
    return MTS_STATUS_OK;
}

void cli_inputs_release(cli_inputs *inputs)
{
    for (uint32_t t = 0; inputs->tensors && t < inputs->tasks; t++) {
        for (uint32_t i = 0; inputs->tensors[t] && inputs->tensors[t][i].data; i++) {
            free(inputs->tensors[t][i].data);
        }
        free(inputs->tensors[t]);
    }
    free(inputs->tensors);
    *inputs = (cli_inputs){0};
}
