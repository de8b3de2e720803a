/*
 * symbol.h: names of what is compiled once for each instruction set and precision:
 * MTS_CPU_SYMBOL(name_) has the build's MTS_CPU_SET at its end.
 */
#ifndef MTS_CPU_SYMBOL_H
#define MTS_CPU_SYMBOL_H

#define MTS_CPU_PASTE(a, b) a##b
#define MTS_CPU_PASTED(a, b) MTS_CPU_PASTE(a, b)
#define MTS_CPU_SYMBOL(name) MTS_CPU_PASTED(name, MTS_CPU_SET)

#endif
