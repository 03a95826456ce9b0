// Sorts in place, smallest first.
void sort(int *items, int count) {
  for (int i = 1; i < count; i++) {
    int item = items[i], at = i;
    while (at > 0 && items[at - 1] > item) {
      items[at] = items[at - 1];
      at--;
    }
    items[at] = item;
  }
}

int main(void) {
  int items[5] = {5, 3, 0x1F, 1, 4};
  sort(items, 5);
  for (int i = 0; i < 5; i++) printf("%d%c", items[i], i == 4 ? '\n' : ' ');
  return 0;
}
