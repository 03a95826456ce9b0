int add(int a, int b) {
  return a + b;
}
int main() {
  int total = 0;
  for (i = 0; i < 10; i++) {
    if (i % 2 == 0) total += add(i, array[i * 2]); else { total = total - (i + 1) * f(g(x), "text\n"); }
  }
  while (total > 100 && !done) total -= 1;
  return total;
}
