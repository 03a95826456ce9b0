package stack

import "fmt"

type Stack struct {
	items []int
	limit int
}

func (s *Stack) Push(item int) error {
	if len(s.items) >= s.limit {
		return fmt.Errorf("the stack holds %d items", s.limit)
	}
	s.items = append(s.items, item)
	return nil
}

func (s *Stack) Sum() int {
	total := 0
	for _, item := range s.items {
		total += item * 2
	}
	return total
}
