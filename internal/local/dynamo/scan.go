package dynamo

import (
	"bytes"
	"encoding/binary"
)

func (s *Server) scan(q *request) (*pageAnswer, error) {
	p, err := s.preparePage(q)
	if err != nil {
		return nil, err
	}
	if err := q.checkPlaceholders(); err != nil {
		return nil, err
	}
	if err := s.parsePage(p); err != nil {
		return nil, err
	}
	if err := p.segment(); err != nil {
		return nil, err
	}
	if q.hasStart {
		if p.after, err = p.startKey(); err != nil {
			return nil, err
		}
		if bytes.Compare(p.after, p.low) < 0 || p.high != nil && bytes.Compare(p.after, p.high) >= 0 {
			return nil, invalid("%s: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d", reasonStart, q.segments, q.segment)
		}
	}
	return s.readPage(p)
}

// segmentsMax is DynamoDB's limit on TotalSegments.
const segmentsMax = 1_000_000

// segment narrows a scan to its share of the partitions' hashes.
func (p *page) segment() error {
	q := p.q
	switch {
	case !q.hasSegment && !q.hasSegments:
		return nil
	case !q.hasSegments:
		return invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case !q.hasSegment:
		return invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case q.segments < 1 || q.segments > segmentsMax:
		return invalid("1 validation error detected: Value '%d' at 'totalSegments' failed to satisfy constraint: Member must have value between 1 and %d", q.segments, segmentsMax)
	case q.segment < 0:
		return invalid("1 validation error detected: Value '%d' at 'segment' failed to satisfy constraint: Member must have value greater than or equal to 0", q.segment)
	case q.segment >= q.segments:
		return invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", q.segment, q.segments)
	}
	p.low = hashBound(q.segment, q.segments)
	if q.segment+1 < q.segments {
		p.high = hashBound(q.segment+1, q.segments)
	}
	return nil
}

func hashBound(segment, segments int64) []byte {
	const hashes = 1 << 32
	return binary.BigEndian.AppendUint32(nil, uint32(hashes*segment/segments))
}
