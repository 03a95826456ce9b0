void sieve(int limit) {
  for (i = 2; i * i <= limit; i++) {
    if (!composite[i]) {
      for (j = i * i; j <= limit; j += i) composite[j] = 1;
    }
  }
  print("done: ", limit, 3.14);
}
