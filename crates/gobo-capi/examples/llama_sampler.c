/*
 * A sampler for llama.cpp that leaves only the tokens that an index allows.
 *
 *   cc -std=c99 -I include -I llama.cpp/include -I llama.cpp/ggml/include examples/llama_sampler.c
 *     -L ../../target/release -lgobo -L llama.cpp/build/bin -lllama -lm -o llama_sampler
 *   llama_sampler STORE VOCABULARY CONSTRAINT
 *
 * To use it, copy what comes before main(), and put the sampler at the head of a chain: samplers before it might cut
 * off every allowed token. It is compiled against the llama.h of the program that it becomes part of. That header's table
 * of functions grows from release to release, so that the fields are named here and the others are zero.
 *
 * No function of the table can fail. Where a token was accepted that is not allowed (a prompt that was fed to the chain, for
 * one), or where no allowed token is left, the text cannot be continued: from then on only the ids that end a text are
 * left, and mask_sampler_failed() says so. A text is cut short then, and never breaks the constraint in silence.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gobo.h"
#include "llama.h"

struct mask_sampler {
  gobo_matcher *matcher;
  size_t words;
  size_t eos_count;
  bool has_failed;
  uint32_t *mask; /* words of it */
  uint32_t *eos;  /* at least one */
};

static struct mask_sampler *context_of(const struct llama_sampler *sampler) {
  return (struct mask_sampler *)sampler->ctx;
}

static bool is_eos(const struct mask_sampler *self, llama_token id) {
  size_t i;
  for (i = 0; i < self->eos_count; i++) {
    if (self->eos[i] == (uint32_t)id) {
      return true;
    }
  }
  return false;
}

static bool is_allowed(const struct mask_sampler *self, llama_token id) {
  size_t word = (size_t)id >> 5;
  return id >= 0 && word < self->words && (self->mask[word] >> (id & 31) & 1) != 0;
}

static const char *mask_name(const struct llama_sampler *sampler) {
  (void)sampler;
  return "gobo";
}

static void mask_accept(struct llama_sampler *sampler, llama_token token) {
  struct mask_sampler *self = context_of(sampler);
  if (!self->has_failed && gobo_matcher_accept(self->matcher, (uint32_t)token) != GOBO_OK) {
    self->has_failed = true;
  }
}

/* Candidates that are not allowed are dropped, and the others stay in their order: a sorted list stays sorted. */
static void mask_apply(struct llama_sampler *sampler, llama_token_data_array *candidates) {
  struct mask_sampler *self = context_of(sampler);
  size_t i, kept = 0;
  if (!self->has_failed) {
    /* Where nothing can follow, the mask is zero. */
    gobo_status status = gobo_matcher_fill(self->matcher, self->mask, self->words);
    for (i = 0; i < candidates->size; i++) {
      if (is_allowed(self, candidates->data[i].id)) {
        candidates->data[kept++] = candidates->data[i];
      }
    }
    if (kept > 0) {
      candidates->size = kept;
      return;
    }
    self->has_failed = status != GOBO_ENDED;
  }
  for (i = 0; i < candidates->size; i++) {
    if (is_eos(self, candidates->data[i].id)) {
      candidates->data[kept++] = candidates->data[i];
    }
  }
  if (kept == 0 && candidates->size > 0) {
    candidates->data[kept].id = (llama_token)self->eos[0];
    candidates->data[kept].logit = 0.0f;
    candidates->data[kept++].p = 0.0f;
  }
  candidates->size = kept;
}

static void mask_reset(struct llama_sampler *sampler) {
  struct mask_sampler *self = context_of(sampler);
  self->has_failed = gobo_matcher_reset(self->matcher) != GOBO_OK;
}

static void mask_free(struct llama_sampler *sampler) {
  struct mask_sampler *self = context_of(sampler);
  gobo_matcher_free(self->matcher);
  free(self->mask);
  free(self->eos);
  free(self);
}

static struct llama_sampler *mask_sampler_of(gobo_matcher *matcher, const uint32_t *eos, size_t eos_count);

/* At the same text. llama.cpp has no answer to a lack of memory, and so NULL ends the program there. */
static struct llama_sampler *mask_clone(const struct llama_sampler *sampler) {
  const struct mask_sampler *self = context_of(sampler);
  struct llama_sampler *clone;
  gobo_matcher *matcher;
  if (gobo_matcher_fork(self->matcher, &matcher) != GOBO_OK) {
    return NULL;
  }
  clone = mask_sampler_of(matcher, self->eos, self->eos_count);
  if (clone != NULL) {
    context_of(clone)->has_failed = self->has_failed;
  }
  return clone;
}

static struct llama_sampler_i mask_functions = {
    .name = mask_name,
    .accept = mask_accept,
    .apply = mask_apply,
    .reset = mask_reset,
    .clone = mask_clone,
    .free = mask_free,
};

/* Takes the matcher, which is freed if there is no memory. */
static struct llama_sampler *mask_sampler_of(gobo_matcher *matcher, const uint32_t *eos, size_t eos_count) {
  struct mask_sampler *self = (struct mask_sampler *)calloc(1, sizeof *self);
  size_t words = 0;
  if (self != NULL && gobo_matcher_mask_words(matcher, &words) == GOBO_OK) {
    self->matcher = matcher;
    self->words = words;
    self->eos_count = eos_count;
    self->mask = (uint32_t *)calloc(words, sizeof *self->mask);
    self->eos = (uint32_t *)malloc(eos_count * sizeof *self->eos);
    if (self->mask != NULL && self->eos != NULL) {
      memcpy(self->eos, eos, eos_count * sizeof *self->eos);
      return llama_sampler_init(&mask_functions, self);
    }
    free(self->mask);
    free(self->eos);
  }
  free(self);
  gobo_matcher_free(matcher);
  return NULL;
}

/*
 * A sampler at the empty text. eos are the ids that end a text, at least one; width is the number of logits, which
 * llama_vocab_n_tokens() says. NULL if that does not fit the index: gobo_last_error() says why.
 */
struct llama_sampler *mask_sampler_init(const gobo_index *index, const uint32_t *eos, size_t eos_count, uint32_t width) {
  gobo_matcher *matcher;
  gobo_binding binding;
  memset(&binding, 0, sizeof binding);
  binding.size = sizeof binding;
  binding.eos = eos;
  binding.eos_count = eos_count;
  binding.logits_width = width;
  if (eos == NULL || eos_count == 0 || gobo_matcher_new(index, &binding, &matcher) != GOBO_OK) {
    return NULL;
  }
  return mask_sampler_of(matcher, eos, eos_count);
}

/* Whether the text was cut short because it could not be continued. */
bool mask_sampler_failed(const struct llama_sampler *sampler) { return context_of(sampler)->has_failed; }

/*
 * The program: texts from a chain of the mask sampler and the greedy one. Instead of a model it has scores that are a hash of
 * the id and the number of the token, and that let a text end sooner or later.
 */
enum { MOST_TOKENS = 200 };

static void must(bool is_good, const char *what) {
  if (!is_good) {
    fprintf(stderr, "%s: %s\n", what, gobo_last_error());
    exit(2);
  }
}

/* The next token of a chain. */
static llama_token sample(struct llama_sampler *chain, const gobo_vocabulary_facts *words, uint32_t step) {
  llama_token_data_array candidates;
  llama_token token;
  uint32_t id;
  size_t i;
  memset(&candidates, 0, sizeof candidates);
  candidates.data = (llama_token_data *)malloc(words->logits_width * sizeof *candidates.data);
  must(candidates.data != NULL, "memory");
  candidates.size = words->logits_width;
  candidates.selected = -1;
  for (id = 0; id < words->logits_width; id++) {
    uint32_t hash = (id * 2654435761u) ^ (step * 40503u);
    hash ^= hash >> 15;
    hash *= 2246822519u;
    candidates.data[id].id = (llama_token)id;
    candidates.data[id].logit = (float)(hash >> 8) / 16777216.0f;
    candidates.data[id].p = 0.0f;
  }
  for (i = 0; i < words->eos_count; i++) {
    candidates.data[words->eos[i]].logit += 0.05f * (float)step;
  }
  llama_sampler_apply(chain, &candidates);
  must(candidates.selected >= 0, "the chain selects nothing");
  token = candidates.data[candidates.selected].id;
  free(candidates.data);
  llama_sampler_accept(chain, token);
  return token;
}

static bool is_end(const gobo_vocabulary_facts *words, llama_token token) {
  size_t i;
  for (i = 0; i < words->eos_count; i++) {
    if (words->eos[i] == (uint32_t)token) {
      return true;
    }
  }
  return false;
}

/* Tokens up to one that ends the text; their number. */
static size_t text_of(struct llama_sampler *chain, const gobo_vocabulary_facts *words, llama_token *tokens) {
  size_t count = 0;
  while (count < MOST_TOKENS) {
    tokens[count] = sample(chain, words, (uint32_t)count);
    if (is_end(words, tokens[count++])) {
      break;
    }
  }
  return count;
}

int main(int argc, char **argv) {
  gobo_store *store;
  gobo_vocabulary *vocabulary;
  gobo_index *index;
  gobo_vocabulary_facts words;
  struct llama_sampler *chain, *clone, *sampler;
  llama_token first[MOST_TOKENS], again[MOST_TOKENS], wrong;
  size_t count, i;

  if (argc != 4) {
    fprintf(stderr, "usage: %s STORE VOCABULARY CONSTRAINT\n", argv[0]);
    return 2;
  }
  must(gobo_abi_version() == GOBO_ABI_VERSION, "another version");
  must(gobo_store_open(argv[1], &store) == GOBO_OK, "store");
  must(gobo_vocabulary_by_name(store, argv[2], &vocabulary) == GOBO_OK, "vocabulary");
  must(gobo_index_find(store, vocabulary, argv[3], &index) == GOBO_OK, "index");
  words.size = sizeof words;
  must(gobo_vocabulary_describe(vocabulary, &words) == GOBO_OK, "vocabulary");
  sampler = mask_sampler_init(index, words.eos, words.eos_count, words.logits_width);
  must(sampler != NULL, "sampler");
  chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
  llama_sampler_chain_add(chain, sampler);
  llama_sampler_chain_add(chain, llama_sampler_init_greedy());

  count = text_of(chain, &words, first);
  must(!mask_sampler_failed(sampler), "a text");
  for (i = 0; i < count && !is_end(&words, first[i]); i++) {
    const uint8_t *bytes;
    size_t length;
    bool is_special;
    must(gobo_vocabulary_token(vocabulary, (uint32_t)first[i], &bytes, &length, &is_special) == GOBO_OK, "token");
    fwrite(bytes, 1, length, stdout);
  }
  printf("\n%s\n", is_end(&words, first[count - 1]) ? "ended" : "not ended");

  /* The same once more, half of it by the chain and half by its clone. */
  llama_sampler_reset(chain);
  for (i = 0; i < count / 2; i++) {
    again[i] = sample(chain, &words, (uint32_t)i);
  }
  clone = llama_sampler_clone(chain);
  must(clone != NULL, "clone");
  llama_sampler_free(chain);
  for (; i < count; i++) {
    again[i] = sample(clone, &words, (uint32_t)i);
  }
  must(memcmp(first, again, count * sizeof *first) == 0, "a clone goes on otherwise");

  /* After a token that is not allowed only an end is left, until the next reset. */
  llama_sampler_reset(clone);
  sampler = llama_sampler_chain_get(clone, 0);
  wrong = (llama_token)words.logits_width;
  llama_sampler_accept(clone, wrong);
  must(mask_sampler_failed(sampler), "a refused token");
  must(is_end(&words, sample(clone, &words, 0)) && is_end(&words, sample(clone, &words, 1)), "more than an end");
  llama_sampler_reset(clone);
  must(text_of(clone, &words, again) == count && memcmp(first, again, count * sizeof *first) == 0, "a reset");
  printf("cloned, refused, reset\n");

  llama_sampler_free(clone);
  gobo_index_free(index);
  gobo_vocabulary_free(vocabulary);
  gobo_store_free(store);
  return 0;
}
