/* SPDX-License-Identifier: MIT */
/* goal.c - whether a large or a small value of a metric is good */
#include "common/proto/goal.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum goal goal_parse(const char *text)
{
    static const struct {
        const char *word;
        enum goal goal;
    } words[] = {
        { "max", GOAL_MAX },      { "min", GOAL_MIN },      { "maximize", GOAL_MAX },
        { "minimize", GOAL_MIN }, { "maximise", GOAL_MAX }, { "minimise", GOAL_MIN },
        { "maximum", GOAL_MAX },  { "minimum", GOAL_MIN },
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(words[i].word, text) == 0)
            return words[i].goal;
    return GOAL_COUNT;
}

/* Terms of metrics' names for which small, or large, values are good.  Terms of five letters and
 * more are searched within the words of a name; shorter terms must be a whole word. */
static const char *const small[] = {
    "loss",      "losses",     "err",         "errs",         "error",  "perplexity", "ppl",
    "rmse",      "mse",        "mae",         "mape",         "rmsle",  "nll",        "cost",
    "costs",     "regret",     "bits",        "bpc",          "bpb",    "latency",    "time",
    "runtime",   "walltime",   "secs",        "seconds",      "ms",     "memory",     "distance",
    "residual",  "deviation",  "entropy",     "divergence",   "fid",    "wer",        "cer",
    "eer",       "ece",        "kl",          "brier",        "energy", "mem",        "violations",
    "incorrect", "inaccuracy", "imprecision", "unsuccessful",
};
static const char *const large[] = {
    "accuracy", "acc",     "f1",      "auc",     "auroc",  "auprc",      "r2",         "map",
    "ap",       "iou",     "miou",    "dice",    "bleu",   "rouge",      "psnr",       "ssim",
    "mcc",      "kappa",   "elo",     "win",     "wins",   "ndcg",       "mrr",        "top1",
    "top5",     "elbo",    "return",  "returns", "reward", "score",      "gain",       "precision",
    "recall",   "correct", "success", "speed",   "sharpe", "throughput", "likelihood", "similarity",
    "fitness",  "profit",  "utility", "purity",  "em",     "hits",
};
/* Words that reverse the meaning of a name, as in negative_error. */
static const char *const turning[] = { "neg",       "negative",    "minus", "inv",  "inverse",
                                       "reduction", "improvement", "delta", "diff", "drop" };

enum { WORD_MAX_BYTES = 40, ANYWHERE_MIN_BYTES = 5 };

/* Reads the next word of a name, in lower case: letters and digits; valLoss has two words. */
static bool next_word(const char **at, char *word)
{
    const char *c = *at;
    size_t n = 0;

    while (*c != '\0' && !isalnum((unsigned char)*c))
        c++;
    for (; isalnum((unsigned char)*c) && n + 1 < WORD_MAX_BYTES; c++) {
        if (n > 0 && isupper((unsigned char)*c) && islower((unsigned char)c[-1]))
            break;
        word[n++] = (char)tolower((unsigned char)*c);
    }
    word[n] = '\0';
    *at = c;
    return n > 0;
}

static bool has_one(const char *word, const char *const *terms, size_t n, bool anywhere)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, terms[i]) == 0 ||
            (anywhere && strlen(terms[i]) >= ANYWHERE_MIN_BYTES && strstr(word, terms[i]) != NULL))
            return true;
    return false;
}

#define HAS_ONE(word, terms, anywhere) \
    has_one(word, terms, sizeof(terms) / sizeof(terms)[0], anywhere)

enum goal goal_guess(const char *metric)
{
    bool is_small = false, is_large = false, is_turned = false, has_likelihood = false;
    char word[WORD_MAX_BYTES];

    while (next_word(&metric, word)) {
        is_small = is_small || HAS_ONE(word, small, true);
        is_large = is_large || HAS_ONE(word, large, true);
        is_turned = is_turned || HAS_ONE(word, turning, false);
        has_likelihood = has_likelihood || strcmp(word, "likelihood") == 0;
    }
    if (is_small == is_large)
        return GOAL_COUNT;
    if (is_turned) /* of reversed names only negative log likelihood is common */
        return has_likelihood ? GOAL_MIN : GOAL_COUNT;
    return is_small ? GOAL_MIN : GOAL_MAX;
}
