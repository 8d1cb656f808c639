/* SPDX-License-Identifier: Apache-2.0
 * A datagram socket in Linux's abstract name space: sending to it needs no connection and never blocks. */
#include "launch/last_word.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

static const char variable[] = "SC_LAUNCHER";

/* The name begins with a zero byte, which tells it from a file. False: too long. */
static bool address_of(const char *name, struct sockaddr_un *address, socklen_t *bytes)
{
    const size_t length = strlen(name);
    if (length == 0 || length > sizeof address->sun_path - 1) {
        return false;
    }
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path + 1, name, length);
    *bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return true;
}

int sc_last_word_listen(void)
{
    char name[64];
    struct sockaddr_un address;
    socklen_t bytes;
    snprintf(name, sizeof name, "stagecoach-%ld-%" PRId64, (long)getpid(), sc_clock_ns());
    const int made = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made >= 0 && address_of(name, &address, &bytes) && bind(made, (const struct sockaddr *)&address, bytes) == 0 &&
        setenv(variable, name, 1) == 0) {
        return made;
    }
    if (made >= 0) {
        (void)close(made);
    }
    return -1;
}

int sc_last_word_heard(int listening)
{
    unsigned char code = 0;
    while (listening >= 0 && code == 0 && recv(listening, &code, sizeof code, MSG_DONTWAIT) == (ssize_t)sizeof code) { }
    return code;
}

void sc_last_word_say(int exit_code)
{
    struct sockaddr_un address;
    socklen_t bytes;
    const char *name = getenv(variable);
    const unsigned char code = (unsigned char)exit_code;
    const int made = name ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (made >= 0) {
        if (address_of(name, &address, &bytes)) {
            (void)sendto(
                made, &code, sizeof code, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address, bytes);
        }
        (void)close(made);
    }
}
