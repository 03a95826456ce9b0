struct node *push(struct node *head, const char *name, unsigned long size) {
  struct node *fresh = malloc(sizeof_node);
  if (!fresh) return head;
  fresh->name = name;
  fresh->size = size * 2u + (size >> 1);
  fresh->next = head;
  return fresh;
}

double mean(struct node *head) {
  double sum = 0.0, count = 0;
  do {
    if (head->size == 0) continue;
    // Empty ones do not count.
    sum += (*head).size; count += 1.0e0;
  } while ((head = head->next) != 0);
  return count > 0 ? sum / count : -1.5;
}
