/* SPDX-License-Identifier: Apache-2.0
 * A signal for the process goes to its first thread, where that takes it: so the mark that a handler leaves can be that
 * thread's own. */
#include "launch/interrupt.h"

#include <signal.h>
#include <stddef.h>

static _Thread_local volatile sig_atomic_t asked;

static void on_signal(int number)
{
    (void)number;
    asked = 1;
}

static void set(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGUSR1, &action, NULL);
}

void sc_interrupt_begin(void)
{
    asked = 0;
    set(on_signal);
}

bool sc_interrupt_asked(void)
{
    return asked != 0;
}

void sc_interrupt_end(void)
{
    set(SIG_DFL);
}
