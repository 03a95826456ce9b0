const char *digits = "0123456789abcdef";
int depth;

int parse(const char *text, long *value) {
  int sign = 1, seen = 0;
  while (*text == ' ' || *text == '\t') ++text;
  if (*text == '-') { sign = -1; text++; } else if (*text == '+') text++;
  *value = 0;
  for (;;) {
    char digit = *text++;
    if (digit < '0' || digit > '9') break;
    *value = *value * 10 + (digit - '0');
    seen |= 1;
  }
  *value *= sign;
  return seen && f(g(h((depth + 1) * 2, table[row[i]][j & ~7]), "end of \"text\"\n")) == 0;
}
