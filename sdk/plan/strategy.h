/*
 * strategy.h: how tasks are executed together (docs/design/strategies.md). The values are those of the public
 * mts_strategy.
 */
#ifndef MTS_PLAN_STRATEGY_H
#define MTS_PLAN_STRATEGY_H

#define MTS_STRATEGY_COUNT 4 /* of mts_strategy */

#endif
