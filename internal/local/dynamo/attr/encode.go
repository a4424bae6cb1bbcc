package attr

import "encoding/base64"

const hexDigits = "0123456789abcdef"

// AppendText appends a JSON string.
func AppendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		if c == '"' || c == '\\' {
			dst = append(dst, '\\', c)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// AppendItem appends an item as the wire has it.
func AppendItem(dst []byte, it Item) []byte {
	dst = append(dst, '{')
	for i := range it {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendText(dst, it[i].Name), ':')
		dst = AppendValue(dst, &it[i].Value)
	}
	return append(dst, '}')
}

// AppendValue appends one attribute value as the wire has it.
func AppendValue(dst []byte, v *Value) []byte {
	dst = append(dst, '{', '"')
	dst = append(dst, v.Kind.String()...)
	dst = append(dst, '"', ':')
	switch v.Kind {
	case KindString, KindNumber, KindBinary:
		dst = appendScalar(dst, v.Kind, v.Text)
	case KindBool, KindNull:
		dst = appendBool(dst, v.Flag)
	case KindMap:
		dst = AppendItem(dst, v.Map)
	default:
		dst = appendElements(dst, v)
	}
	return append(dst, '}')
}

func appendScalar(dst []byte, kind Kind, text string) []byte {
	if kind != KindBinary {
		return AppendText(dst, text)
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, []byte(text))
	return append(dst, '"')
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

func appendElements(dst []byte, v *Value) []byte {
	dst = append(dst, '[')
	for i := range v.List {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendValue(dst, &v.List[i])
	}
	for i := range v.Set {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendScalar(dst, v.Kind.Element(), v.Set[i])
	}
	return append(dst, ']')
}
