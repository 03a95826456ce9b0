int found = 0;
int search(int low, int high, int wanted) {
  while (low <= high) {
    int middle = low + (high - low) / 2;
    if (values[middle] == wanted) return middle;
    if (values[middle] < wanted) low = middle + 1; else high = middle - 1;
  }
  return -1;
}
