package compile

import (
	"time"
	_ "time/tzdata" // the same zones on every machine

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// localDate(instant, zone) is the day on the wall in that zone, such as 2026-10-25. As a part of a key it makes
// one operation a day, also on the day on which an hour comes twice.
func localDate() cel.EnvOption {
	return cel.Function("localDate",
		cel.Overload("local_date_timestamp", []*cel.Type{cel.TimestampType, cel.StringType}, cel.StringType,
			cel.BinaryBinding(func(instant, zone ref.Val) ref.Val {
				return dateIn(instant.(types.Timestamp).Time, string(zone.(types.String)))
			})),
		cel.Overload("local_date_text", []*cel.Type{cel.StringType, cel.StringType}, cel.StringType,
			cel.BinaryBinding(func(instant, zone ref.Val) ref.Val {
				t, err := time.Parse(time.RFC3339Nano, string(instant.(types.String)))
				if err != nil {
					return types.NewErr("the text is no instant such as 2026-11-29T18:00:00Z")
				}
				return dateIn(t, string(zone.(types.String)))
			})))
}

func dateIn(t time.Time, zone string) ref.Val {
	if zone == "" || zone == "Local" { // these would mean another zone on another machine
		return types.NewErr("a zone has a name such as Europe/Berlin")
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return types.NewErr("there is no such zone")
	}
	return types.String(t.In(location).Format(time.DateOnly))
}
