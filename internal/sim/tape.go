package sim

import "math/bits"

// tape gives every choice of a world. Drawn from a seed, a choice belongs to a place: which actor makes it, and its how
// many-eth it is. So what one actor does differently leaves everybody else's choices as they were. Under a schedule only
// its faults strike, and everything else is quiet.
type tape struct {
	seed     uint64
	schedule *replay // nil: draw
	quiet    bool    // faults have stopped
	record   *recorder
	odds     [kinds][]uint32 // thresholds of each kind's options, out of 1<<16
}

// mix makes a number of two that shows nothing of them.
func mix(a, b uint64) uint64 {
	x := a ^ bits.RotateLeft64(b*0x9e3779b97f4a7c15, 29)
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Places of different uses of one seed never meet.
const (
	orderPlaces  = 1 << 40
	drawPlaces   = 1 << 41
	randomPlaces = 1 << 42
	planPlaces   = 1 << 43
	skewPlaces   = 1 << 44
)

// orderOdds of 1<<16: somebody else than the first goes on.
const orderOdds = 1 << 14

// order picks one of n actors, of whom first would be next.
func (t *tape) order(first *actor, n int) int {
	first.turns++
	i := 0
	switch {
	case t.schedule != nil:
		i = min(t.schedule.strike(first.name, kindOrder, ""), n-1)
	case !t.quiet:
		r := mix(t.seed^first.id, orderPlaces+first.turns)
		if r&0xffff < orderOdds {
			i = 1 + int(r>>16%uint64(n-1))
		}
	}
	if t.record != nil {
		t.record.note(first.name, kindOrder, "", i)
	}
	return i
}

// choose answers what the adversary does at the actor's next point of a kind; 0 is nothing.
func (t *tape) choose(a *actor, k kind, where string) int {
	option := 0
	a.points++
	switch {
	case t.quiet:
	case t.schedule != nil:
		option = t.schedule.strike(a.name, k, where)
	default:
		r := uint32(mix(t.seed^a.id, a.points) & 0xffff)
		for i, below := range t.odds[k] {
			if r < below {
				option = i + 1
				break
			}
		}
	}
	if t.record != nil {
		t.record.note(a.name, k, where, option)
	}
	return option
}

// draw is a number below n that is no fault: which person, how long. A schedule keeps it.
func (t *tape) draw(a *actor, n int) int {
	a.draws++
	return int(mix(t.seed^a.id, drawPlaces+a.draws) % uint64(n))
}

// lay sets the odds of this world: which faults it knows and how often they strike.
func (t *tape) lay(enabled func() bool, times float64) {
	for k := range kinds {
		t.odds[k] = make([]uint32, len(options[k]))
		sum := 0.0
		for i, o := range options[k] {
			if enabled() {
				sum += o.perMille * times * 65.536
			}
			t.odds[k][i] = uint32(min(sum, 0xffff))
		}
	}
}
