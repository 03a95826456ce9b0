float midpoint(float low, float high) {
    return (low + high) / 2;
}

int search(int low, int high, int goal) {
    /* Halves what is left
       until one is left. */
    while (low < high) {
        int middle = (low + high) / 2;
        if (value(middle) >= goal) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    report(low, high, value(low) - goal);
    return low;
}
