int power(int base, int exponent) {
    int result = 1;
    for (int i = 0; i < exponent; i = i + 1) {
        result = result * base;
    }
    return result;
}

int digits(int number) {
    int count = 0;
    while (number > 0) {
        number = number / 10;
        count = count + 1;
    }
    if (count == 0) {
        count = 1;
    } else {
        print(count, -number * (count + 2));
    }
    return count;
}
