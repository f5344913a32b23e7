package recur

import (
	"math/bits"
	"time"
)

// bitSet is a set of the numbers 0 to 63: hours, minutes, days of a month.
type bitSet uint64

// setOf returns the set of the values, each modulo size: hour 24 is hour 0.
func setOf(values []int, size int) bitSet {
	var s bitSet
	for _, v := range values {
		s |= 1 << (v % size)
	}
	return s
}

// setOrAll is setOf, or all the numbers below size if no values were given.
func setOrAll(values []int, size int) bitSet {
	if values == nil {
		return 1<<size - 1
	}
	return setOf(values, size)
}

func (s bitSet) has(i int) bool { return s>>i&1 != 0 }

// from is the set without its elements below i.
func (s bitSet) from(i int) bitSet { return s >> i << i }

// first is the least element of a set that is not empty.
func (s bitSet) first() int { return bits.TrailingZeros64(uint64(s)) }

// last is the greatest element of a set that is not empty.
func (s bitSet) last() int { return 63 - bits.LeadingZeros64(uint64(s)) }

// closest is the least difference of two elements, and 0 if there are no two.
func (s bitSet) closest() int {
	if s&(s-1) == 0 {
		return 0
	}
	d := 1
	for s&(s>>d) == 0 {
		d++
	}
	return d
}

// monthSet is a set of months of the year, January being bit 0.
type monthSet uint16

const everyMonth monthSet = 1<<12 - 1

// monthsOf returns the set of months numbered from 1, and every month if none
// was given.
func monthsOf(numbers []int) monthSet {
	if numbers == nil {
		return everyMonth
	}
	return monthSet(setOf(numbers, 64) >> 1)
}

func (s monthSet) has(month int) bool { return s>>(month%12)&1 != 0 }

// admit returns day if it lies in one of the months, else the first later day
// that does. The set must not be empty.
func (s monthSet) admit(day int) int {
	if s == everyMonth {
		return day
	}
	month, _ := monthOf(day)
	if s.has(month) {
		return day
	}
	for month++; !s.has(month); {
		month++
	}
	return firstDay(month)
}

// weekSet is a set of days of the week as it is numbered here: Monday is bit 0.
func weekSet(days []time.Weekday) bitSet {
	var s bitSet
	for _, d := range days {
		s |= 1 << ((d + 6) % 7)
	}
	return s
}

// ring is a set of the numbers 0 to size−1, taken to repeat for ever: size is
// next to 0, and i stands for i+size, i+2·size … too. Size is at most minutesPerDay.
type ring struct {
	size  int
	words [(minutesPerDay + 63) / 64]uint64
}

const minutesPerDay = 24 * 60

func (r *ring) add(i int) { r.words[i/64] |= 1 << (i % 64) }

// has takes any i that is not negative.
func (r *ring) has(i int) bool {
	i %= r.size
	return r.words[i/64]>>(i%64)&1 != 0
}

// from returns the distance from i to the first element at or after it, and
// false if the ring is empty.
func (r *ring) from(i int) (distance int, ok bool) {
	i %= r.size
	w := i / 64
	if word := r.words[w] >> (i % 64); word != 0 {
		return bits.TrailingZeros64(word), true
	}
	for j := w + 1; j < len(r.words); j++ {
		if r.words[j] != 0 {
			return j*64 + bits.TrailingZeros64(r.words[j]) - i, true
		}
	}
	for j := 0; j <= w; j++ {
		if r.words[j] != 0 {
			return r.size + j*64 + bits.TrailingZeros64(r.words[j]) - i, true
		}
	}
	return 0, false
}
