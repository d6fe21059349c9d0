/* SPDX-License-Identifier: MIT */
/*
 * keys.h - what each key does in `ludwig watch`
 *
 * The help screen shows the table watch_keys, and a test compares ludwig(1) with it.
 */
#ifndef LUDWIG_CLIENT_WATCH_KEYS_H
#define LUDWIG_CLIENT_WATCH_KEYS_H

#include "client/watch/model.h"

/* Numbers of the keys that are no characters; a character's number is its code point. */
enum watch_special {
    KEYS_UP = 0x110000,
    KEYS_DOWN,
    KEYS_LEFT,
    KEYS_RIGHT,
    KEYS_PAGE_UP,
    KEYS_PAGE_DOWN,
    KEYS_HOME,
    KEYS_END,
    KEYS_BACK_TAB,
    KEYS_BACKSPACE,
    KEYS_ESCAPE,
    KEYS_REDRAW
};

struct watch_key {
    const char *shown; /* the name in the help: "Tab" */
    int keys[6];       /* all keys that do this; 0: none */
    void (*act)(struct watch_model *m, int key);
    const char *help;
};

extern const struct watch_key watch_keys[]; /* ended by a row without a name */

/* Handles a key.  While a question is shown the key answers it; while the user types a filter the
 * key edits that; while help is shown any key closes it; else the table says what the key does. */
void keys_press(struct watch_model *m, int key);

#endif
