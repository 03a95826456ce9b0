package main

import (
	"fmt"
	"strings"
)

const limit = 100

var seen = map[string]int{"a": 1, "the": 2}

func count(text string, from int) (int, bool) {
	words := strings.Fields(text)
	for i := from; i < len(words); i++ {
		word := strings.ToLower(words[i])
		if n, ok := seen[word]; ok && n > 0 {
			seen[word] = n + 1
		} else {
			seen[word] = 1
		}
	}
	return len(seen), len(words) > limit
}

func main() {
	n, more := count("It was the best of times", 1)
	switch {
	case more:
		fmt.Println("too many")
	default:
		fmt.Printf("%d words\n", n)
	}
	go func() { fmt.Println(1.5e3, 0x1F, 'x') }()
}
