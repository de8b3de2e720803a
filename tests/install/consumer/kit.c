/* Decoders alone: nothing of the run-time is linked. Prints what the other programs print: version and success. */
#include <mts/kit.h>
#include <stdio.h>

int main(void)
{
    mts_kit_ssd ssd;
    if (mts_kit_ssd_default(MTS_KIT_SSD_FACE, &ssd) != MTS_STATUS_OK ||
        mts_kit_anchors(&ssd, NULL, 0) != 896) {
        return 1;
    }
    puts("0.1.0 1");
    return 0;
}
