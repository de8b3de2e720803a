/*
 * nets_build.c: the networks of nets.h.
 */
#include "support/nets.h"

void mts_net_build_chain(mts_net *net)
{
    mts_net_value x = mts_net_input(net, 3, 8);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    x = mts_net_pool(net, x);
    x = mts_net_scale(net, x);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    mts_net_end(net, mts_net_mean(net, x), 3 + net->task);
}

void mts_net_build_residual(mts_net *net)
{
    mts_net_value x = mts_net_input(net, 3, 8);
    const mts_net_value trunk = mts_net_channels(net, true);
    x = mts_net_conv(net, x, trunk, 3, 1, NULL);
    for (int block = 0; block < 2; block++) {
        const mts_net_value y = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
        net->layer++;
        if (block == 0) {
            x = mts_net_conv(net, y, trunk, 3, 1, &x);
        } else {
            x = mts_net_add(net, mts_net_conv(net, y, trunk, 3, 1, NULL), x);
        }
    }
    mts_net_end(net, mts_net_mean(net, x), 4);
}

void mts_net_build_concat(mts_net *net)
{
    mts_net_value x = mts_net_input(net, 3, 8);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 3, 2, NULL);
    const mts_net_value squeeze = mts_net_conv(net, x, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value left = mts_net_conv(net, squeeze, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value right = mts_net_conv(net, squeeze, mts_net_channels(net, true), 3, 1, NULL);
    x = mts_net_pool(net, mts_net_concat(net, left, right));
    x = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    mts_net_end(net, mts_net_mean(net, x), 5);
}

void mts_net_build_flatten(mts_net *net)
{
    mts_net_value x = mts_net_input(net, 1, 6);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    x = mts_net_pool(net, x);
    x = mts_net_flatten(net, x);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 1, 1, NULL);
    mts_net_end(net, x, 3);
}

void mts_net_build_depthwise(mts_net *net)
{
    mts_net_value x = mts_net_input(net, 3, 6);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    x = mts_net_depthwise(net, x);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 1, 1, NULL);
    mts_net_end(net, mts_net_mean(net, x), 3);
}

void mts_net_build_prefix(mts_net *net)
{
    mts_net_value x = mts_net_input(net, 3, 8);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    x = mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL);
    x = mts_net_conv(net, x, mts_net_channels(net, false), 3, 1, NULL);
    x = mts_net_conv(net, x, mts_net_channels(net, false), 3, 1, NULL);
    mts_net_end(net, mts_net_mean(net, x), 3);
}
