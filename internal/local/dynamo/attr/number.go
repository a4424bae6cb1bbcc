package attr

import (
	"math/big"
	"strconv"
	"strings"
)

// The documented range of a number.
const (
	numberDigitsMax   = 38  // significant decimal digits
	numberExponentMax = 125 // power of ten of the first digit
	numberExponentMin = -130
	numberTextMax     = 1000 // bytes of one number's spelling
)

// Decimal is an exact number: 0.DIGITS times ten to the power of exp. Zero has no digits.
type Decimal struct {
	neg    bool
	digits string // no leading or trailing zeros
	exp    int
}

// ParseDecimal reads any spelling of a number DynamoDB accepts and checks its range.
func ParseDecimal(s string) (Decimal, error) {
	d, ok := scanDecimal(s)
	if !ok {
		return d, invalidf("The parameter cannot be converted to a numeric value%s", colonAnd(s))
	}
	return d, d.inRange()
}

func colonAnd(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

func scanDecimal(s string) (Decimal, bool) {
	var d Decimal
	if s == "" || len(s) > numberTextMax {
		return d, false
	}
	rest := s
	if rest[0] == '-' || rest[0] == '+' {
		d.neg = rest[0] == '-'
		rest = rest[1:]
	}
	mantissa, power := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		p, err := strconv.Atoi(rest[i+1:])
		if err != nil {
			return d, false
		}
		mantissa, power = rest[:i], p
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || !allDigits(digits) {
		return d, false
	}
	trimmed := strings.TrimLeft(digits, "0")
	d.exp = len(whole) + power - (len(digits) - len(trimmed))
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return Decimal{}, true
	}
	return d, true
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func (d Decimal) inRange() error {
	switch {
	case d.digits == "":
		return nil
	case d.exp-1 > numberExponentMax:
		return invalidf("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case d.exp-1 < numberExponentMin:
		return invalidf("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	case len(d.digits) > numberDigitsMax:
		return invalidf("Attempting to store more than 38 significant digits in a Number")
	}
	return nil
}

// String is the one spelling DynamoDB answers with: plain notation, no needless zeros.
func (d Decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	var b strings.Builder
	if d.neg {
		b.WriteByte('-')
	}
	switch {
	case d.exp <= 0:
		b.WriteString("0.")
		writeZeros(&b, -d.exp)
		b.WriteString(d.digits)
	case d.exp >= len(d.digits):
		b.WriteString(d.digits)
		writeZeros(&b, d.exp-len(d.digits))
	default:
		b.WriteString(d.digits[:d.exp])
		b.WriteByte('.')
		b.WriteString(d.digits[d.exp:])
	}
	return b.String()
}

func writeZeros(b *strings.Builder, n int) {
	for range n {
		b.WriteByte('0')
	}
}

// Cmp is -1, 0 or 1 as d is less than, equal to or greater than other.
func (d Decimal) Cmp(other Decimal) int {
	if s, t := d.sign(), other.sign(); s != t || s == 0 {
		return compareInt(s, t)
	}
	c := compareInt(d.exp, other.exp)
	if c == 0 {
		c = strings.Compare(d.digits, other.digits)
	}
	if d.neg {
		return -c
	}
	return c
}

func (d Decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	}
	return 1
}

func compareInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Add is the exact sum, or an error when it leaves the documented range.
func (d Decimal) Add(other Decimal) (Decimal, error) {
	scale := min(d.exp-len(d.digits), other.exp-len(other.digits))
	sum := d.scaled(scale)
	sum.Add(sum, other.scaled(scale))
	out, _ := scanDecimal(sum.String() + "e" + strconv.Itoa(scale))
	return out, out.inRange()
}

// Neg is the number with the other sign.
func (d Decimal) Neg() Decimal {
	d.neg = !d.neg && d.digits != ""
	return d
}

// scaled is the number divided by ten to the power of scale, which must not leave a fraction.
func (d Decimal) scaled(scale int) *big.Int {
	if d.digits == "" {
		return new(big.Int)
	}
	i, _ := new(big.Int).SetString(d.digits, 10)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.exp-len(d.digits)-scale)), nil)
	i.Mul(i, power)
	if d.neg {
		i.Neg(i)
	}
	return i
}

// AddNumbers adds, or with subtract takes away, two canonical numbers.
func AddNumbers(a, b string, subtract bool) (string, error) {
	if sum, ok := addSmall(a, b, subtract); ok {
		return sum, nil
	}
	x, err := ParseDecimal(a)
	if err != nil {
		return "", err
	}
	y, err := ParseDecimal(b)
	if err != nil {
		return "", err
	}
	if subtract {
		y = y.Neg()
	}
	sum, err := x.Add(y)
	return sum.String(), err
}

// smallNumberMax is the longest integer, in bytes, whose sums are surely exact in 64 bits.
const smallNumberMax = 17

func addSmall(a, b string, subtract bool) (string, bool) {
	if len(a) > smallNumberMax || len(b) > smallNumberMax {
		return "", false
	}
	x, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		return "", false
	}
	y, err := strconv.ParseInt(b, 10, 64)
	if err != nil {
		return "", false
	}
	if subtract {
		y = -y
	}
	return strconv.FormatInt(x+y, 10), true
}

// CompareNumbers compares two numbers of any spelling by value.
func CompareNumbers(a, b string) int {
	if a == b {
		return 0
	}
	x, _ := scanDecimal(a)
	y, _ := scanDecimal(b)
	return x.Cmp(y)
}
