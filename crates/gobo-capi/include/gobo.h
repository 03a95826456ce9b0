/*
 * gobo: masks of allowed tokens for constrained decoding, from precompiled index files.
 *
 * The loop of an inference engine, for one text:
 *
 *     gobo_matcher_new(index, NULL, &matcher);
 *     while (gobo_matcher_fill(matcher, mask, words) == GOBO_OK) {
 *       uint32_t id = sample(logits, mask);        // one whose bit is set: bit (id & 31) of mask[id >> 5]
 *       gobo_matcher_accept(matcher, id);
 *     }
 *
 * Every function that can fail returns a gobo_status, and its results by pointer; gobo_last_error has the message.
 * A failed call changes nothing, except that a handle it should have made is NULL, and a mask it should have written zero.
 *
 * What a caller promises, and no library can check:
 * - A pointer that is not NULL is aligned as its type is, and points to as many values as the call says. They are valid
 *   during the call, no other thread writes to them meanwhile, and what the call writes overlaps nothing else that it is
 *   given.
 * - A handle comes from this library, has its own type, and was not freed. Handles are freed by the gobo_*_free of
 *   their type, each once; NULL is ignored. What a handle was made from may be freed before it.
 * - Stores, vocabularies and indices may be used by any number of threads at once. A matcher belongs to one at a time.
 * - Files that are open are not written to (a store never does).
 * NULL where it has no meaning, lists and structures that are not aligned, text that is no UTF-8, structures and buffers
 * of another size, rows and ids out of range are answered with a status.
 *
 * Strings that are given and taken end with a NUL. Strings and arrays that are taken belong to the handle they come
 * from, and are valid as long as that.
 */


#ifndef GOBO_H
#define GOBO_H

/* Made by cbindgen; do not edit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The version of this interface. It is raised when a program that was built with an older header would break;
 * `gobo_abi_version()` says what the library has.
 */
#define GOBO_ABI_VERSION 1

/**
 * What a call says. `gobo_last_error` has the message of everything but `GOBO_OK`.
 */
typedef enum {
  /**
   * Done.
   */
  GOBO_OK = 0,
  /**
   * An argument is malformed: a text, a size, an alignment, an id.
   */
  GOBO_INVALID = 1,
  /**
   * An argument is well-formed, and this library does not support it.
   */
  GOBO_UNSUPPORTED = 2,
  /**
   * A documented limit was passed.
   */
  GOBO_LIMIT = 3,
  /**
   * There is no such vocabulary, index or file.
   */
  GOBO_NOT_FOUND = 4,
  /**
   * The name stands for something else already.
   */
  GOBO_EXISTS = 5,
  /**
   * A file, or the program itself, was made for another version of this library.
   */
  GOBO_VERSION = 6,
  /**
   * A file is damaged.
   */
  GOBO_CORRUPT = 7,
  /**
   * There is no room now, or no descriptor: try again.
   */
  GOBO_BUSY = 8,
  /**
   * Time ran out: try again.
   */
  GOBO_DEADLINE = 9,
  /**
   * The caller went away.
   */
  GOBO_CANCELLED = 10,
  /**
   * A bug of gobo. The handles of the call are to be freed and not used again.
   */
  GOBO_INTERNAL = 11,
  /**
   * The token is not allowed here. The matcher is as it was.
   */
  GOBO_REFUSED = 12,
  /**
   * The text has ended: nothing can follow.
   */
  GOBO_ENDED = 13,
  /**
   * A pointer is NULL where that has no meaning.
   */
  GOBO_NULL_ARGUMENT = 14,
} gobo_status;

/**
 * An index: for every state of a constraint the allowed ids of one vocabulary.
 */
typedef struct gobo_index gobo_index;

/**
 * One text being decoded under an index: the masks of its next tokens.
 */
typedef struct gobo_matcher gobo_matcher;

/**
 * A store of this host: a folder of vocabularies and indices.
 */
typedef struct gobo_store gobo_store;

/**
 * A vocabulary: the bytes of every token id, and a default binding.
 */
typedef struct gobo_vocabulary gobo_vocabulary;

/**
 * What a vocabulary is.
 */
typedef struct {
  /**
   * `sizeof(gobo_vocabulary_facts)`, set before the call.
   */
  size_t size;
  /**
   * Its digest: 64 hexadecimal digits.
   */
  const char *digest;
  /**
   * The ids that end a text by default, ascending: those of the name it was found by, else none.
   */
  const uint32_t *eos;
  /**
   * How many they are.
   */
  size_t eos_count;
  /**
   * Highest id + 1.
   */
  uint32_t length;
  /**
   * Number of logits by default: that of the name it was found by, else the length.
   */
  uint32_t logits_width;
} gobo_vocabulary_facts;

/**
 * What an index is. `gobo_index_report` says what it enforces.
 */
typedef struct {
  /**
   * `sizeof(gobo_index_facts)`, set before the call.
   */
  size_t size;
  /**
   * Its key: 64 hexadecimal digits.
   */
  const char *key;
  /**
   * The digest of its vocabulary: 64 hexadecimal digits.
   */
  const char *vocabulary;
  /**
   * The kind of its constraint: regex, choice, grammar, json or schema.
   */
  const char *constraint_kind;
  /**
   * Size of the file in bytes.
   */
  uint64_t file_bytes;
  /**
   * Number of states of its automaton.
   */
  uint32_t states;
  /**
   * Number of distinct rows of allowed ids.
   */
  uint32_t rows;
} gobo_index_facts;

/**
 * How a model uses a vocabulary, and what a matcher remembers. Zero in a field, and NULL in eos, stand for the defaults:
 * `gobo_binding binding = { sizeof(gobo_binding) };` has all of them.
 */
typedef struct {
  /**
   * `sizeof(gobo_binding)`.
   */
  size_t size;
  /**
   * The ids that end a text, in any order; allowed exactly where the text so far is complete. NULL for those of the
   * vocabulary; any other pointer with an `eos_count` of 0 for none.
   */
  const uint32_t *eos;
  /**
   * How many they are.
   */
  size_t eos_count;
  /**
   * Number of logits of the model, at least the length of the vocabulary. 0 for that of the vocabulary.
   */
  uint32_t logits_width;
  /**
   * How many tokens can be taken back, at 4 bytes each, up to 1,048,576. 0 for 256.
   */
  uint32_t max_rollback;
  /**
   * Most frames on the stack of a nested text, at 32 bytes each, up to 1,048,576. 0 for 65,536.
   */
  uint32_t max_stack_depth;
} gobo_binding;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the interface that this library has, to be compared with `GOBO_ABI_VERSION` of the header.
 */
uint32_t gobo_abi_version(void);

/**
 * The message of this thread's last failed call; empty if none has failed. Valid until the thread's next failed call.
 */
const char *gobo_last_error(void);

/**
 * The word of a `gobo_status`, such as "not found"; "unknown" for other numbers. Valid for ever.
 */
const char *gobo_status_name(int status);

/**
 * Opens the store at a path, and creates its missing folders. A store that may only be read serves too.
 */
gobo_status gobo_store_open(const char *path, gobo_store **store);

/**
 * Frees a store. What was found in it stays.
 */
void gobo_store_free(gobo_store *store);

/**
 * The vocabulary that a name of the store stands for, with the binding of the name. `GOBO_NOT_FOUND` if there is none.
 */
gobo_status gobo_vocabulary_by_name(const gobo_store *store,
                                    const char *name,
                                    gobo_vocabulary **vocabulary);

/**
 * The vocabulary with this digest (64 hexadecimal digits). No id ends a text by default, and there are as many logits as
 * ids.
 */
gobo_status gobo_vocabulary_by_digest(const gobo_store *store,
                                      const char *digest,
                                      gobo_vocabulary **vocabulary);

/**
 * The vocabulary of a file, with the defaults of `gobo_vocabulary_by_digest`.
 */
gobo_status gobo_vocabulary_open(const char *path, gobo_vocabulary **vocabulary);

/**
 * Frees a vocabulary. Indices that were opened with it stay.
 */
void gobo_vocabulary_free(gobo_vocabulary *vocabulary);

/**
 * Says what a vocabulary is. facts->size is set before.
 */
gobo_status gobo_vocabulary_describe(const gobo_vocabulary *vocabulary, gobo_vocabulary_facts *facts);

/**
 * The bytes of a token, which may hold NULs and end within a character, and whether it is special: then no mask has it,
 * unless it ends a text. An id that the tokenizer leaves out has no bytes; one beyond the vocabulary is `GOBO_INVALID`.
 */
gobo_status gobo_vocabulary_token(const gobo_vocabulary *vocabulary,
                                  uint32_t id,
                                  const uint8_t **bytes,
                                  size_t *length,
                                  bool *is_special);

/**
 * The index of a constraint over a vocabulary, if the store has it: nothing is compiled. The constraint is JSON, such as
 * {"kind": "regex", "pattern": "[0-9]+"}; docs/c-api.md has all forms. `GOBO_NOT_FOUND`, with the key, if the store has
 * none.
 */
gobo_status gobo_index_find(const gobo_store *store,
                            const gobo_vocabulary *vocabulary,
                            const char *constraint,
                            gobo_index **index);

/**
 * The index with this key (64 hexadecimal digits), if the store has it.
 */
gobo_status gobo_index_find_key(const gobo_store *store,
                                const gobo_vocabulary *vocabulary,
                                const char *key,
                                gobo_index **index);

/**
 * The index of a file. `GOBO_INVALID` if it was compiled for another vocabulary.
 */
gobo_status gobo_index_open(const gobo_vocabulary *vocabulary, const char *path, gobo_index **index);

/**
 * Frees an index. Its matchers stay.
 */
void gobo_index_free(gobo_index *index);

/**
 * Says what an index is. facts->size is set before.
 */
gobo_status gobo_index_describe(const gobo_index *index, gobo_index_facts *facts);

/**
 * What an index enforces of its constraint, and what not, as JSON: lists named enforced, narrowed, unspellable,
 * annotations, widened and notes, of {"pointer", "keyword", "why"}.
 */
gobo_status gobo_index_report(const gobo_index *index,
                              const char **json);

/**
 * A matcher at the empty text. NULL as binding stands for all defaults.
 */
gobo_status gobo_matcher_new(const gobo_index *index, const gobo_binding *binding, gobo_matcher **matcher);

/**
 * Frees a matcher.
 */
void gobo_matcher_free(gobo_matcher *matcher);

/**
 * Another matcher at the same text, with the same way back.
 */
gobo_status gobo_matcher_fork(const gobo_matcher *matcher, gobo_matcher **fork);

/**
 * Another matcher of the same constraint whose texts begin with `length` bytes of a prompt, those of its last token that are to be written again:
 * its first tokens spell the prefix, and may go beyond it. It stands at the beginning. `GOBO_INVALID` for a prefix of more than 65,536 bytes, or
 * with a byte for which the vocabulary has no token.
 */
gobo_status gobo_matcher_with_prefix(const gobo_matcher *matcher,
                                     const uint8_t *prefix,
                                     size_t length,
                                     gobo_matcher **prefixed);

/**
 * Another matcher of the same constraint behind a prompt: the `count` tokens since the last special one at least, of which those before it are not looked at. It stands at the
 * beginning. Under a constraint whose tokenization is `canonical-strict` or `canonical-heal`, what comes is what the tokenizer would write behind the
 * prompt; `*taken_back` tokens are to be dropped from its end, 0 or 1, whose bytes are written anew. Under others the prompt excludes nothing.
 * `GOBO_INVALID` where the tokenizer would have written the prompt otherwise, and if it would write no text of the constraint behind it.
 */
gobo_status gobo_matcher_after_prompt(const gobo_matcher *matcher,
                                      const uint32_t *prompt,
                                      size_t count,
                                      gobo_matcher **after,
                                      size_t *taken_back);

/**
 * Goes back to the empty text, and forgets the tokens before.
 */
gobo_status gobo_matcher_reset(gobo_matcher *matcher);

/**
 * Words of a mask, 32 bits each: the number of logits divided by 32, rounded up.
 */
gobo_status gobo_matcher_mask_words(const gobo_matcher *matcher, size_t *words);

/**
 * Writes the mask of the next token. There is room for `words` words, at least `gobo_matcher_mask_words`. An id is allowed
 * if bit (id & 31) of mask[id >> 5] is set; words after the mask are zero. `GOBO_ENDED`, and all words zero, if the text
 * has ended, or if nothing can follow and no id ends a text.
 */
gobo_status gobo_matcher_fill(const gobo_matcher *matcher,
                              uint32_t *mask,
                              size_t words);

/**
 * Fills many masks in a matrix of `matrix_words` words, whose rows begin every `row_stride_words`: that of matchers[n] in
 * row rows[n], or in row n if rows is NULL. No row is named twice; rows that are not named stay as they are. The call uses
 * so many threads, 0 and 1 for its own, at most 64; it takes hundreds of rows for a second one to be worth its start.
 * statuses[n] is what `gobo_matcher_fill` would say; statuses may be NULL.
 *
 * The call returns the first failure of a row (`GOBO_ENDED` is none); that row is zero, and the others are filled all the
 * same. If rows or sizes do not fit, nothing is written.
 */
gobo_status gobo_matcher_fill_batch(const gobo_matcher *const *matchers,
                                    const size_t *rows,
                                    size_t count,
                                    uint32_t *matrix,
                                    size_t matrix_words,
                                    size_t row_stride_words,
                                    uint32_t threads,
                                    gobo_status *statuses);

/**
 * Fills the masks along a chain of draft tokens: row 0 is the mask here, row i that after the first i drafts. It stops
 * before a draft that is not allowed, and where the text has ended; both are `GOBO_OK`. The matrix has a row more than
 * there are drafts. `*taken` is how many drafts can be accepted, `*filled` how many rows hold a mask; rows after these stay
 * as they are. The matcher does not move, and can take back as many tokens as before.
 */
gobo_status gobo_matcher_fill_chain(const gobo_matcher *matcher,
                                    const uint32_t *drafts,
                                    size_t count,
                                    uint32_t *matrix,
                                    size_t matrix_words,
                                    size_t row_stride_words,
                                    size_t *taken,
                                    size_t *filled);

/**
 * Takes a token. `GOBO_REFUSED` if its bit is not set here, `GOBO_ENDED` after an id that ended the text; the matcher is
 * as it was then.
 */
gobo_status gobo_matcher_accept(gobo_matcher *matcher,
                                uint32_t token);

/**
 * How many of the tokens could be accepted one after the other. The matcher does not move.
 */
gobo_status gobo_matcher_validate(const gobo_matcher *matcher,
                                  const uint32_t *tokens,
                                  size_t count,
                                  size_t *taken);

/**
 * Takes back the last count tokens. `GOBO_INVALID`, and none is taken back, if fewer are remembered.
 */
gobo_status gobo_matcher_rollback(gobo_matcher *matcher, size_t count);

/**
 * The bytes that must come next, as far as they fit into `capacity` bytes; `*length` is how many there are, 0 where there
 * is a choice.
 */
gobo_status gobo_matcher_forced(const gobo_matcher *matcher,
                                uint8_t *bytes,
                                size_t capacity,
                                size_t *length);

/**
 * The one token that must come next, `UINT32_MAX` where there is a choice or the text may end: before a token edge no bytes are forced.
 */
gobo_status gobo_matcher_forced_token(const gobo_matcher *matcher,
                                      uint32_t *token);

/**
 * The tokens that must come next under a constraint with a canonical tokenization, as far as they fit into `capacity`; `*count` is how many there are, 0 where there
 * is a choice, and under other tokenizations.
 */
gobo_status gobo_matcher_forced_tokens(const gobo_matcher *matcher,
                                       uint32_t *tokens,
                                       size_t capacity,
                                       size_t *count);

/**
 * Whether the text so far satisfies the constraint.
 */
gobo_status gobo_matcher_completed(const gobo_matcher *matcher, bool *is_completed);

/**
 * Whether an id that ends a text was accepted.
 */
gobo_status gobo_matcher_ended(const gobo_matcher *matcher, bool *is_ended);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GOBO_H */
