package attr

// Bytes of the order-preserving key encoding.
const (
	keyNegative = 0x10
	keyZero     = 0x20
	keyPositive = 0x30
	keyExponent = 512 // added to a power of ten, so that it is never negative
	keyNegEnd   = 0xff
	keyEscape   = 0x00
	keyEscaped  = 0xff // after keyEscape: a zero byte of the value
	keyEnd      = 0x01 // after keyEscape: the end of the value
)

// AppendKey appends a key value (S, N or B) so that bytes compare as DynamoDB compares the values, and so that no
// value is the beginning of another.
func AppendKey(dst []byte, v *Value) []byte {
	return append(AppendKeyPrefix(dst, v), keyEscape, keyEnd)
}

// AppendKeyPrefix appends what every value that begins with v begins with.
func AppendKeyPrefix(dst []byte, v *Value) []byte {
	if v.Kind == KindNumber {
		return appendNumberKey(dst, v.Text)
	}
	for i := 0; i < len(v.Text); i++ {
		dst = append(dst, v.Text[i])
		if v.Text[i] == keyEscape {
			dst = append(dst, keyEscaped)
		}
	}
	return dst
}

// appendNumberKey holds no zero byte, so it needs no escaping: the exponent is spread over two bytes of seven bits.
func appendNumberKey(dst []byte, text string) []byte {
	d, _ := scanDecimal(text)
	if d.digits == "" {
		return append(dst, keyZero)
	}
	exp := d.exp + keyExponent
	high, low := byte(exp>>7)+1, byte(exp&0x7f)+1
	if !d.neg {
		return append(append(dst, keyPositive, high, low), d.digits...)
	}
	dst = append(dst, keyNegative, ^high, ^low)
	for i := 0; i < len(d.digits); i++ {
		dst = append(dst, ^d.digits[i])
	}
	return append(dst, keyNegEnd)
}
