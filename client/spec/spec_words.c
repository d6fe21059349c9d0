/* SPDX-License-Identifier: MIT */
/* spec_words.c - a sweep of one job, from the words of its command */
#include <stdlib.h>
#include <string.h>

#include "client/spec/spec.h"
#include "common/base/path.h"
#include "common/base/quote.h"
#include "common/data/template.h"

/* Appends the words, quoted and with braces doubled, so that shell and placeholders keep them. */
static void add_command(struct buf *command, char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct buf word = { 0 };

        template_add_word(&word, words[i], strlen(words[i]));
        buf_add_str(command, i > 0 ? " " : "");
        for (size_t k = 0; k < word.n; k++) {
            char c = (char)word.bytes[k];

            buf_add_char(command, c);
            if (c == '{' || c == '}')
                buf_add_char(command, c);
        }
        buf_free(&word);
    }
}

int spec_of_words(char *const *words, size_t n, struct arena *a, struct spec *s, struct err *e)
{
    char *folder = path_real(".", e);
    struct buf command = { 0 }, text = { 0 };
    const char *kept;
    int result;

    if (folder == NULL)
        return -1;
    add_command(&command, words, n);
    buf_add_str(&text, "# made by `ludwig submit -- COMMAND`\ncommand: ");
    quote_add(&text, buf_text(&command), command.n);
    buf_add_char(&text, '\n');
    kept = arena_strndup(a, buf_text(&text), text.n);
    result = spec_parse("the command line", arena_strdup(a, folder), kept, text.n, a, s, e);
    buf_free(&text);
    buf_free(&command);
    free(folder);
    return result;
}
