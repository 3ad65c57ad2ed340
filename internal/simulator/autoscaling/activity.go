package autoscaling

import (
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/uuid"
)

// activity is a scaling activity. Descriptions, causes and status messages are those of AWS:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-verify-scaling-activity.html
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/CHAP_Troubleshooting.html
type activity struct {
	id, description, cause, message string
	code                            types.ScalingActivityStatusCode
	zone, subnet                    string
	start                           time.Time
	end                             *time.Time
	progress                        int32
	launch                          bool
}

// keptActivities limits a group's history; AWS keeps six weeks.
const keptActivities = 200

// begin starts an activity of a group.
func (g *group) begin(now time.Time, launch bool, description, cause string) *activity {
	a := &activity{
		id: uuid.NewString(), description: description, cause: cause, code: types.ScalingActivityStatusCodeInProgress,
		start: now, launch: launch,
	}
	g.activities = append([]*activity{a}, g.activities...)
	if len(g.activities) > keptActivities {
		g.activities = g.activities[:keptActivities]
	}
	return a
}

// finish ends an activity.
func (a *activity) finish(now time.Time, code types.ScalingActivityStatusCode, message string) {
	a.code, a.message, a.progress = code, message, 100
	a.end = &now
}

// details returns the location of an activity.
func (a *activity) details() map[string]string {
	d := map[string]string{}
	if a.subnet != "" {
		d["Subnet ID"] = a.subnet
	}
	if a.zone != "" {
		d["Availability Zone"] = a.zone
	}
	return d
}

func (a *activity) sdk(g *group) types.Activity {
	details, err := json.Marshal(a.details())
	if err != nil { // strings always encode
		details = []byte("{}")
	}
	out := types.Activity{
		ActivityId: &a.id, AutoScalingGroupName: &g.name, AutoScalingGroupARN: &g.arn, Cause: aws.String(a.cause),
		Description: aws.String(a.description), Details: aws.String(string(details)), StartTime: aws.Time(a.start), EndTime: a.end,
		StatusCode: a.code, Progress: aws.Int32(a.progress),
	}
	if a.message != "" {
		out.StatusMessage = aws.String(a.message)
	}
	return out
}

// at returns a time in the form of an activity's cause.
func at(t time.Time) string { return "At " + t.UTC().Format(timeFormat) }

const timeFormat = "2006-01-02T15:04:05Z"
