/*
 * What a command does, in few words, so that runs of different work can be told apart: its program without
 * folders, and what that was given to run. A guess, from the command line alone.
 *
 *     /usr/bin/sort -n x                     sort
 *     python3.11 -u code/train.py --epochs 3 python train.py
 *     java -Xmx4g -jar sim.jar               java -jar sim.jar
 *     sh -c 'cd x && make -j2 | tee log'     sh: cd make tee
 *     mpirun -np 4 ./sim in.dat              sim
 *     samtools sort -@4 x.bam                samtools sort
 */
#ifndef METRON_LEARN_WORK_H
#define METRON_LEARN_WORK_H

#include "base/arena.h"

/* In the arena; NULL: out of memory, or there is no command. */
const char *work_name(struct arena *arena, const char *command);

#endif
