package ec2

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// The codes are from
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("InvalidParameterValue", format, args...)
}

func missing(name string) *wire.Error {
	return wire.Errorf("MissingParameter", "The request must contain the parameter %s", name)
}

func incorrectState(format string, args ...any) *wire.Error {
	return wire.Errorf("IncorrectState", format, args...)
}

// unsupported rejects a parameter that the simulator does not support.
func unsupported(parameter string) *wire.Error {
	return wire.Errorf("UnsupportedOperation", "The simulator does not support the parameter %s.", parameter)
}

// dry returns the error with which AWS answers a dry run that would have succeeded.
func dry(run *bool) error {
	if aws.ToBool(run) {
		return wire.Errorf("DryRunOperation", "Request would have succeeded, but DryRun flag is set.").
			WithStatus(http.StatusPreconditionFailed)
	}
	return nil
}

var hexID = lazyregexp.New(`^[a-z]+-([0-9a-f]{8}|[0-9a-f]{17})$`)

// checkID returns an error, such as "InvalidInstanceID", if an ID is malformed.
func checkID(code, prefix, id string) error {
	if !hexID.MatchString(id) || len(id) < len(prefix) || id[:len(prefix)] != prefix {
		return wire.Errorf(code+".Malformed", "Invalid id: %q (expecting %q)", id, prefix+"...")
	}
	return nil
}

func noInstance(id string) *wire.Error {
	return wire.Errorf("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
}

func noVolume(id string) *wire.Error {
	return wire.Errorf("InvalidVolume.NotFound", "The volume '%s' does not exist.", id)
}

func noSnapshot(id string) *wire.Error {
	return wire.Errorf("InvalidSnapshot.NotFound", "The snapshot '%s' does not exist.", id)
}

func noImage(id string) *wire.Error {
	return wire.Errorf("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
}

func noKeyPair(name string) *wire.Error {
	return wire.Errorf("InvalidKeyPair.NotFound", "The key pair '%s' does not exist", name)
}
