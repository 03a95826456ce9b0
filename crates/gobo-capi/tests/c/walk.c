/*
 * Random walks through the indices of a store, printed so that they can be done again in Rust.
 *
 *   walk STORE VOCABULARY STEPS <constraints, one a line
 *
 * Prints "index KEY", then for each step "mask STATUS WORDS", and what was done: "accept ID STATUS", "rollback N STATUS",
 * "fork" or "reset". What is not printed is compared here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gobo.h"

enum { LINE = 1 << 20, MOST_ALLOWED = 64 };

static void must(bool is_good, const char *what) {
  if (!is_good) {
    fprintf(stderr, "%s: %s\n", what, gobo_last_error());
    exit(2);
  }
}

static uint32_t state = 1;

static uint32_t below(uint32_t bound) {
  state = state * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)(state >> 8) * bound) >> 24);
}

/* Each pointer of each function may be NULL, and every word of the interface says so. */
static void null_is_a_status(const gobo_vocabulary *vocabulary, const gobo_index *index, gobo_matcher *matcher) {
  gobo_store *store = NULL;
  gobo_vocabulary *other = NULL;
  gobo_index *found = NULL;
  gobo_matcher *made = NULL;
  const gobo_matcher *matchers[1] = {NULL};
  const char *text;
  uint32_t word = 0;
  size_t count = 1;
  const gobo_status is_null = GOBO_NULL_ARGUMENT;
  must(gobo_store_open(NULL, &store) == is_null && gobo_store_open("/", NULL) == is_null, "store_open");
  must(strcmp(gobo_last_error(), "store is NULL") == 0, "last_error");
  must(gobo_vocabulary_by_name(NULL, "x", &other) == is_null, "by_name");
  must(gobo_vocabulary_by_digest(NULL, "x", &other) == is_null, "by_digest");
  must(gobo_vocabulary_open(NULL, &other) == is_null, "vocabulary_open");
  must(gobo_vocabulary_describe(vocabulary, NULL) == is_null, "vocabulary_describe");
  must(gobo_vocabulary_token(vocabulary, 0, NULL, NULL, NULL) == is_null, "vocabulary_token");
  must(gobo_index_find(NULL, vocabulary, "{}", &found) == is_null, "find");
  must(gobo_index_find_key(NULL, vocabulary, "x", &found) == is_null, "find_key");
  must(gobo_index_open(vocabulary, NULL, &found) == is_null, "index_open");
  must(gobo_index_describe(index, NULL) == is_null, "index_describe");
  must(gobo_index_report(NULL, &text) == is_null, "report");
  must(gobo_matcher_new(NULL, NULL, &made) == is_null, "new");
  must(gobo_matcher_fork(matcher, NULL) == is_null && gobo_matcher_fork(NULL, &made) == is_null, "fork");
  must(store == NULL && other == NULL && found == NULL && made == NULL, "handles");
  must(gobo_matcher_reset(NULL) == is_null, "reset");
  must(gobo_matcher_mask_words(matcher, NULL) == is_null, "mask_words");
  must(gobo_matcher_fill(matcher, NULL, 1) == is_null, "fill");
  must(gobo_matcher_fill_batch(matchers, NULL, 1, &word, 1, 1, 1, NULL) == is_null, "fill_batch");
  must(gobo_matcher_fill_chain(NULL, NULL, 0, &word, 1, 1, &count, &count) == is_null, "fill_chain");
  must(gobo_matcher_accept(NULL, 0) == is_null, "accept");
  must(gobo_matcher_validate(matcher, NULL, 1, &count) == is_null, "validate");
  must(gobo_matcher_rollback(NULL, 0) == is_null, "rollback");
  must(gobo_matcher_forced(matcher, NULL, 1, &count) == is_null, "forced");
  must(gobo_matcher_completed(matcher, NULL) == is_null, "completed");
  must(gobo_matcher_ended(matcher, NULL) == is_null, "ended");
  must(strcmp(gobo_status_name(is_null), "null argument") == 0, "status_name");
  gobo_store_free(NULL);
  gobo_vocabulary_free(NULL);
  gobo_index_free(NULL);
  gobo_matcher_free(NULL);
}

/* A batch and a chain write the same words; words after a mask are zero. */
static void others_agree(const gobo_matcher *matcher, gobo_status status, const uint32_t *mask, size_t words) {
  const size_t stride = words + 1, rows[2] = {2, 0};
  const gobo_matcher *matchers[2];
  gobo_status statuses[2];
  size_t taken, filled, i;
  uint32_t *matrix = (uint32_t *)malloc(3 * stride * sizeof *matrix);
  must(matrix != NULL, "memory");
  memset(matrix, 0xff, 3 * stride * sizeof *matrix);
  matchers[0] = matchers[1] = matcher;
  must(gobo_matcher_fill_batch(matchers, rows, 2, matrix, 3 * stride, stride, 2, statuses) == GOBO_OK, "a batch");
  for (i = 0; i < 2; i++) {
    must(statuses[i] == status, "the status of a row");
    must(memcmp(matrix + rows[i] * stride, mask, words * sizeof *mask) == 0, "a row");
    must(matrix[rows[i] * stride + words] == 0 && matrix[stride + i] == UINT32_MAX, "beside a row");
  }
  must(gobo_matcher_fill_chain(matcher, NULL, 0, matrix, stride, stride, &taken, &filled) == GOBO_OK, "a chain");
  must(taken == 0 && filled == (status == GOBO_OK ? 1 : 0), "how far a chain goes");
  must(memcmp(matrix, mask, words * sizeof *mask) == 0, "the row of a chain");
  free(matrix);
}

static void walk(gobo_matcher *matcher, size_t words, uint32_t steps) {
  uint32_t *mask = (uint32_t *)malloc(words * sizeof *mask);
  must(mask != NULL, "memory");
  while (steps-- > 0) {
    uint32_t id = below((uint32_t)words * 32), tries = MOST_ALLOWED;
    size_t i;
    gobo_status status = gobo_matcher_fill(matcher, mask, words);
    printf("mask %d", (int)status);
    for (i = 0; i < words; i++) {
      printf(" %" PRIx32, mask[i]);
    }
    printf("\n");
    others_agree(matcher, status, mask, words);
    switch (status == GOBO_ENDED ? 3 : below(16)) {
      case 0: {
        uint32_t count = below(4);
        printf("rollback %" PRIu32 " %d\n", count, (int)gobo_matcher_rollback(matcher, count));
        break;
      }
      case 1: {
        gobo_matcher *fork;
        must(gobo_matcher_fork(matcher, &fork) == GOBO_OK, "fork");
        must(gobo_matcher_accept(fork, id) != GOBO_NULL_ARGUMENT, "a fork");
        gobo_matcher_free(fork);
        printf("fork\n");
        break;
      }
      case 3:
        must(gobo_matcher_reset(matcher) == GOBO_OK, "reset");
        printf("reset\n");
        break;
      default:
        /* The next allowed id, if one is near. */
        while (tries-- > 0 && (mask[id >> 5] >> (id & 31) & 1) == 0) {
          id = (id + 1) % ((uint32_t)words * 32);
        }
        printf("accept %" PRIu32 " %d\n", id, (int)gobo_matcher_accept(matcher, id));
    }
  }
  free(mask);
}

int main(int argc, char **argv) {
  gobo_store *store;
  gobo_vocabulary *vocabulary;
  char *line = (char *)malloc(LINE);
  must(argc == 4 && line != NULL, "STORE VOCABULARY STEPS");
  must(gobo_store_open(argv[1], &store) == GOBO_OK, "store");
  must(gobo_vocabulary_by_name(store, argv[2], &vocabulary) == GOBO_OK, "vocabulary");
  while (fgets(line, LINE, stdin) != NULL) {
    gobo_index *index;
    gobo_matcher *matcher;
    gobo_index_facts facts;
    size_t words;
    line[strcspn(line, "\n")] = '\0';
    must(gobo_index_find(store, vocabulary, line, &index) == GOBO_OK, line);
    facts.size = sizeof facts;
    must(gobo_index_describe(index, &facts) == GOBO_OK, "facts");
    printf("index %s\n", facts.key);
    must(gobo_matcher_new(index, NULL, &matcher) == GOBO_OK, "matcher");
    must(gobo_matcher_mask_words(matcher, &words) == GOBO_OK, "words");
    null_is_a_status(vocabulary, index, matcher);
    gobo_index_free(index);
    walk(matcher, words, (uint32_t)atoi(argv[3]));
    gobo_matcher_free(matcher);
  }
  free(line);
  gobo_vocabulary_free(vocabulary);
  gobo_store_free(store);
  return 0;
}
