package backup

import (
	"context"
	"errors"
	"io"
)

// Check reads the whole of a backup and says what it holds. It fails as
// [NewReader] and [Reader.Next] do.
func Check(ctx context.Context, in io.Reader, p Progress) (End, error) {
	r, err := NewReader(in)
	if err != nil {
		return End{}, err
	}
	for {
		switch _, err := r.Next(); {
		case errors.Is(err, io.EOF):
			return r.End(), nil
		case err != nil:
			return End{}, err
		}
		if err := context.Cause(ctx); err != nil {
			return End{}, err
		}
		p("%d jobs checked", r.seen.Jobs)
	}
}
