/*
 * command.h: the subcommands of the mts program, one file each (command_<name>.c).
 */
#ifndef MTS_APPS_COMMAND_H
#define MTS_APPS_COMMAND_H

#include "kit/args.h"

/* argv[0] is the subcommand's name. Returns an exit status. */
int cli_command_devices(int argc, char **argv);
int cli_command_compile(int argc, char **argv);
int cli_command_inspect(int argc, char **argv);
int cli_command_run(int argc, char **argv);
int cli_command_eval(int argc, char **argv);
int cli_command_export(int argc, char **argv);
int cli_command_append(int argc, char **argv);
int cli_command_zip(int argc, char **argv);
int cli_command_prune(int argc, char **argv);
int cli_command_split(int argc, char **argv);
int cli_command_train(int argc, char **argv);
int cli_command_synth(int argc, char **argv);
int cli_command_bench(int argc, char **argv);
int cli_command_profile(int argc, char **argv);
int cli_command_kernels(int argc, char **argv);

#endif
