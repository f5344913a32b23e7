package bustest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Types of AMQP that Go has none for (AMQP 1.0, part 1).
type (
	symbol    string
	uuid      [16]byte
	described struct {
		code  uint64
		value any
	}
)

var errShort = errors.New("amqp: value is cut short")

// maxDepth bounds how deep values may be nested.
const maxDepth = 32

// decode reads one value and returns what follows it.
func decode(b []byte) (value any, rest []byte, err error) { return decodeAt(b, 0) }

func decodeAt(b []byte, depth int) (any, []byte, error) {
	switch {
	case depth > maxDepth:
		return nil, nil, errors.New("amqp: value is nested too deep")
	case len(b) == 0:
		return nil, nil, errShort
	case b[0] != 0:
		return decodeAs(b[0], b[1:], depth)
	}
	descriptor, rest, err := decodeAt(b[1:], depth+1)
	if err != nil {
		return nil, nil, err
	}
	code, ok := descriptor.(uint64)
	if !ok {
		return nil, nil, fmt.Errorf("amqp: descriptor is %T", descriptor)
	}
	value, rest, err := decodeAt(rest, depth+1)
	return described{code, value}, rest, err
}

// decodeAs reads a value whose constructor was c. The upper half of c says how
// long it is.
func decodeAs(c byte, b []byte, depth int) (any, []byte, error) {
	switch c >> 4 {
	case 0x4:
		return empty(c, b)
	case 0x5, 0x6, 0x7, 0x8, 0x9:
		size := 1 << (c>>4 - 5)
		if len(b) < size {
			return nil, nil, errShort
		}
		value, err := fixed(c, b[:size])
		return value, b[size:], err
	case 0xa, 0xc, 0xe:
		if len(b) < 1 || len(b)-1 < int(b[0]) {
			return nil, nil, errShort
		}
		value, err := variable(c, b[1:1+int(b[0])], depth)
		return value, b[1+int(b[0]):], err
	case 0xb, 0xd, 0xf:
		if len(b) < 4 || uint64(len(b)-4) < uint64(binary.BigEndian.Uint32(b)) {
			return nil, nil, errShort
		}
		size := int(binary.BigEndian.Uint32(b))
		value, err := variable(c, b[4:4+size], depth)
		return value, b[4+size:], err
	}
	return nil, nil, unknown(c)
}

func unknown(c byte) error { return fmt.Errorf("amqp: no type 0x%02x", c) }

func empty(c byte, rest []byte) (any, []byte, error) {
	switch c {
	case 0x40:
		return nil, rest, nil
	case 0x41:
		return true, rest, nil
	case 0x42:
		return false, rest, nil
	case 0x43:
		return uint32(0), rest, nil
	case 0x44:
		return uint64(0), rest, nil
	case 0x45:
		return []any{}, rest, nil
	}
	return nil, nil, unknown(c)
}

func fixed(c byte, b []byte) (any, error) {
	switch c {
	case 0x50:
		return b[0], nil
	case 0x51:
		return int8(b[0]), nil
	case 0x52:
		return uint32(b[0]), nil
	case 0x53:
		return uint64(b[0]), nil
	case 0x54:
		return int32(int8(b[0])), nil
	case 0x55:
		return int64(int8(b[0])), nil
	case 0x56:
		return b[0] == 1, nil
	case 0x60:
		return binary.BigEndian.Uint16(b), nil
	case 0x61:
		return int16(binary.BigEndian.Uint16(b)), nil
	case 0x70:
		return binary.BigEndian.Uint32(b), nil
	case 0x71:
		return int32(binary.BigEndian.Uint32(b)), nil
	case 0x72:
		return math.Float32frombits(binary.BigEndian.Uint32(b)), nil
	case 0x80:
		return binary.BigEndian.Uint64(b), nil
	case 0x81:
		return int64(binary.BigEndian.Uint64(b)), nil
	case 0x82:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	case 0x83:
		return time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC(), nil
	case 0x98:
		return uuid(b), nil
	}
	return nil, unknown(c)
}

func variable(c byte, b []byte, depth int) (any, error) {
	switch c {
	case 0xa0, 0xb0:
		return slices.Clone(b), nil
	case 0xa1, 0xb1:
		return string(b), nil
	case 0xa3, 0xb3:
		return symbol(b), nil
	case 0xc0, 0xd0, 0xc1, 0xd1, 0xe0, 0xf0:
	default:
		return nil, unknown(c)
	}
	width := 1
	if c>>4&1 == 1 {
		width = 4
	}
	if len(b) < width {
		return nil, errShort
	}
	count := int(b[0])
	if width == 4 {
		count = int(binary.BigEndian.Uint32(b))
	}
	if b = b[width:]; count > len(b) { // each takes a byte at least, but for arrays of nothing
		return nil, errShort
	}
	element := func(b []byte) (any, []byte, error) { return decodeAt(b, depth+1) }
	if c>>4 >= 0xe && len(b) > 0 { // an array: one constructor for all
		of := b[0]
		b, element = b[1:], func(b []byte) (any, []byte, error) { return decodeAs(of, b, depth+1) }
	}
	list := make([]any, 0, count)
	for range count {
		value, rest, err := element(b)
		if err != nil {
			return nil, err
		}
		list, b = append(list, value), rest
	}
	if c>>4 == 0xc || c>>4 == 0xd {
		if c&0xf == 1 {
			return toMap(list)
		}
	}
	return list, nil
}

// toMap makes a map of keys and values in turn. All that are used in messages
// have strings or symbols for keys.
func toMap(list []any) (any, error) {
	m := make(map[string]any, len(list)/2)
	for pair := range slices.Chunk(list, 2) {
		if len(pair) < 2 {
			return nil, errShort
		}
		switch key := pair[0].(type) {
		case string:
			m[key] = pair[1]
		case symbol:
			m[string(key)] = pair[1]
		default:
			return nil, fmt.Errorf("amqp: key of a map is %T", key)
		}
	}
	return m, nil
}

// encode appends a value to b. It panics if it knows no encoding of it.
func encode(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, 0x40)
	case bool:
		if v {
			return append(b, 0x41)
		}
		return append(b, 0x42)
	case uint8:
		return append(b, 0x50, v)
	case uint16:
		return binary.BigEndian.AppendUint16(append(b, 0x60), v)
	case uint32:
		return binary.BigEndian.AppendUint32(append(b, 0x70), v)
	case uint64:
		return binary.BigEndian.AppendUint64(append(b, 0x80), v)
	case int32:
		return binary.BigEndian.AppendUint32(append(b, 0x71), uint32(v))
	case []byte:
		return append(binary.BigEndian.AppendUint32(append(b, 0xb0), uint32(len(v))), v...)
	case string:
		return append(binary.BigEndian.AppendUint32(append(b, 0xb1), uint32(len(v))), v...)
	case symbol:
		return append(binary.BigEndian.AppendUint32(append(b, 0xb3), uint32(len(v))), v...)
	case described:
		return encode(append(b, 0, 0x53, byte(v.code)), v.value)
	case []any:
		return compound(b, 0xd0, v)
	case map[string]any:
		var items []any
		for _, key := range slices.Sorted(maps.Keys(v)) {
			items = append(items, key, v[key])
		}
		return compound(b, 0xd1, items)
	case []symbol: // as an array
		var body []byte
		for _, s := range v {
			body = append(binary.BigEndian.AppendUint32(body, uint32(len(s))), s...)
		}
		b = binary.BigEndian.AppendUint32(append(b, 0xf0), uint32(len(body)+5))
		return append(append(binary.BigEndian.AppendUint32(b, uint32(len(v))), 0xb3), body...)
	}
	panic(fmt.Sprintf("bustest: cannot encode %T", value))
}

func compound(b []byte, c byte, items []any) []byte {
	var body []byte
	for _, item := range items {
		body = encode(body, item)
	}
	b = binary.BigEndian.AppendUint32(append(b, c), uint32(len(body)+4))
	return append(binary.BigEndian.AppendUint32(b, uint32(len(items))), body...)
}
