/* SPDX-License-Identifier: MIT */
/*
 * feed.h - the thread that updates the model of `ludwig watch` from server and share
 *
 * Requests to the server and reads from the share can take long, so only this thread makes them;
 * the main thread keeps drawing the screen and taking keys.  Each thread locks feed.turn while it
 * uses the model.
 */
#ifndef LUDWIG_CLIENT_WATCH_FEED_H
#define LUDWIG_CLIENT_WATCH_FEED_H

#include <pthread.h>

#include "client/session/session.h"
#include "client/watch/model.h"

struct feed {
    struct session *session; /* while the thread runs, only the thread uses it */
    struct rpc questions;    /* a second connection; the session's carries the subscription */
    bool watches_all;        /* also watch sweeps that the user submits later */
    struct watch_model *model;
    pthread_mutex_t turn; /* locked while a thread uses the model */
    int news_fd;          /* readable when the model has changed; the caller empties it */
    /* private to feed.c */
    pthread_t thread;
    int news_write_fd, wake_pipe[2], end_pipe[2];
};

/* Opens the second connection, which may ask for a password, and starts the thread.  The caller has
 * set session, watches_all and model; the model has the sweeps to watch.  Returns 0, or -1 with e
 * set. */
int feed_begin(struct feed *f, struct err *e);
/* Wakes the thread after a key was pressed: the model may need other data, or have an order. */
void feed_wake(struct feed *f);
/* Tells the thread to end.  Returns true when it has ended; the caller may use the session again.
 * Returns false if it has not ended within 2 s, for example while it waits for a reply: it still
 * uses feed, model and session, so that the program has to exit. */
bool feed_end(struct feed *f);

#endif
