/*
 * Walks a text through an index, and prints the mask before each token.
 *
 *   cc -std=c99 -I include examples/plain.c -L ../../target/release -lgobo -o plain
 *   plain STORE VOCABULARY CONSTRAINT TEXT
 *   plain ~/.cache/gobo llama-3.1 '{"kind": "regex", "pattern": "[0-9]{4}-[0-9]{2}"}' 2026-11
 *
 * It stands for an inference engine: where that samples a token, this takes the longest allowed one with which the rest
 * of the text begins. Exit status 0: the text satisfies the constraint; 1: it does not; 2: something failed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gobo.h"

/* Ends the program where a call has failed. */
static void must(gobo_status status, const char *what) {
  if (status != GOBO_OK) {
    fprintf(stderr, "%s: %s: %s\n", what, gobo_status_name(status), gobo_last_error());
    exit(2);
  }
}

static bool is_allowed(const uint32_t *mask, uint32_t id) {
  return (mask[id >> 5] >> (id & 31) & 1) != 0;
}

static void print_mask(const uint32_t *mask, uint32_t width) {
  enum { MOST = 8 };
  uint32_t allowed = 0, id;
  printf("mask:");
  for (id = 0; id < width; id++) {
    if (is_allowed(mask, id) && allowed++ < MOST) {
      printf(" %" PRIu32, id);
    }
  }
  printf("%s, %" PRIu32 " of %" PRIu32 " ids\n", allowed > MOST ? " ..." : "", allowed, width);
}

/* The longest allowed token with which a text begins; false if there is none. */
static bool longest_token(const gobo_vocabulary *vocabulary, uint32_t ids, const uint32_t *mask, const char *text,
                          uint32_t *token, size_t *token_length) {
  size_t rest = strlen(text);
  uint32_t id;
  *token_length = 0;
  for (id = 0; id < ids; id++) {
    const uint8_t *bytes;
    size_t length;
    bool is_special;
    if (!is_allowed(mask, id)) {
      continue;
    }
    must(gobo_vocabulary_token(vocabulary, id, &bytes, &length, &is_special), "token");
    if (!is_special && length > *token_length && length <= rest && memcmp(bytes, text, length) == 0) {
      *token = id;
      *token_length = length;
    }
  }
  return *token_length > 0;
}

int main(int argc, char **argv) {
  gobo_store *store = NULL;
  gobo_vocabulary *vocabulary = NULL;
  gobo_index *index = NULL;
  gobo_matcher *matcher = NULL;
  gobo_vocabulary_facts words;
  gobo_index_facts facts;
  gobo_status status;
  uint32_t *mask;
  size_t mask_words;
  const char *text;
  bool is_completed;

  if (argc != 5) {
    fprintf(stderr, "usage: %s STORE VOCABULARY CONSTRAINT TEXT\n", argv[0]);
    return 2;
  }
  if (gobo_abi_version() != GOBO_ABI_VERSION) {
    fprintf(stderr, "the library has another interface than its header\n");
    return 2;
  }
  must(gobo_store_open(argv[1], &store), "store");
  must(gobo_vocabulary_by_name(store, argv[2], &vocabulary), "vocabulary");
  must(gobo_index_find(store, vocabulary, argv[3], &index), "index");
  words.size = sizeof words;
  must(gobo_vocabulary_describe(vocabulary, &words), "vocabulary");
  facts.size = sizeof facts;
  must(gobo_index_describe(index, &facts), "index");
  printf("index %s: %s, %" PRIu32 " states, %" PRIu64 " bytes\n", facts.key, facts.constraint_kind, facts.states,
         facts.file_bytes);

  /* The binding of the vocabulary's name: its ids that end a text, its number of logits. */
  must(gobo_matcher_new(index, NULL, &matcher), "matcher");
  must(gobo_matcher_mask_words(matcher, &mask_words), "mask");
  mask = (uint32_t *)malloc(mask_words * sizeof *mask);
  if (mask == NULL) {
    fprintf(stderr, "no memory for a mask\n");
    return 2;
  }
  text = argv[4];
  while ((status = gobo_matcher_fill(matcher, mask, mask_words)) == GOBO_OK) {
    uint32_t token = 0;
    size_t length;
    print_mask(mask, words.logits_width);
    if (!longest_token(vocabulary, words.length, mask, text, &token, &length)) {
      break;
    }
    must(gobo_matcher_accept(matcher, token), "accept");
    printf("token %" PRIu32 ": %.*s\n", token, (int)length, text);
    text += length;
  }
  if (status != GOBO_ENDED) {
    must(status, "fill");
  }
  must(gobo_matcher_completed(matcher, &is_completed), "completed");
  is_completed = is_completed && *text == '\0';
  printf("%s\n", is_completed ? "completed" : "not completed");

  free(mask);
  gobo_matcher_free(matcher);
  gobo_index_free(index);
  gobo_vocabulary_free(vocabulary);
  gobo_store_free(store);
  return is_completed ? 0 : 1;
}
