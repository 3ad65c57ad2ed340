package nodeup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup/auditlog"
)

const (
	// auditUnit runs [ShipAuditLog].
	auditUnit = "nodeup-audit.service"
	// auditFile has what was shipped. It is on the same volume as the log.
	auditFile = stateFolder + "/audit-shipped.json"
	// auditPoll is how often a slot checks whether the log has grown by an object's worth.
	auditPoll = 5 * time.Second
	// auditRetry is the longest wait before a slot tries again to ship.
	auditRetry = time.Minute
	// auditTimeout bounds an object, and auditLast what a slot ships when it is stopped: systemd
	// waits 90 seconds by default.
	auditTimeout, auditLast = 2 * time.Minute, 30 * time.Second
	// auditHeartbeat is how often a slot reports the condition of its Node if that does not change.
	auditHeartbeat = 5 * time.Minute
	// lossShown is how long the condition reports lines that were lost.
	lossShown = 24 * time.Hour
)

// startAuditUnit makes the slot ship the audit log of its API server. It does so before the API
// server starts.
func (b *boot) startAuditUnit(ctx context.Context) (string, error) {
	if b.bundle.Audit == nil {
		return "nothing, spec.api.audit.ship is not set", nil
	}
	return b.startUnit(ctx, auditUnit, "Ships the audit log of the cluster "+b.bundle.Cluster, "--ship-audit-log")
}

// ShipAuditLog ships the audit log of the slot's API server to a bucket until the context ends, and
// then once more. The slot only adds objects: see package auditlog. It reports in its log, and in a
// condition of its Node, whether that succeeds.
func ShipAuditLog(ctx context.Context, options Options) error {
	b := &boot{Options: options, files: files{root: options.Root}}
	err := b.runAll(ctx, []task{{"metadata", (*boot).readMetadata, lastRetry}, {"bundle", (*boot).readBundle, lastRetry}})
	if err != nil {
		return err
	}
	if b.bundle.Audit == nil || b.bundle.Etcd == nil {
		return permanent("the bundle has no audit log to ship")
	}
	a := &auditShipping{boot: b}
	shipper := a.shipper()
	for wait := firstRetry; ctx.Err() == nil; {
		report, err := shipper.Ship(ctx)
		a.note(ctx, &report, err)
		if err != nil {
			a.sleep(ctx, wait)
			wait = min(2*wait, auditRetry)
			continue
		}
		wait = firstRetry
		every := time.Duration(b.bundle.Audit.EverySeconds) * time.Second
		for began := b.Clock.Now(); ctx.Err() == nil && b.Clock.Since(began) < every && !shipper.Grown(); {
			a.sleep(ctx, min(auditPoll, every))
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditLast)
	defer cancel()
	report, err := shipper.Ship(last)
	a.note(last, &report, err)
	return nil
}

// auditShipping is what a slot does for the audit log.
type auditShipping struct {
	*boot

	// last is the condition that was reported last, at lastTime.
	last     nodeCondition
	lastTime time.Time
	// logged is the last error, and losses the number of losses, that were logged.
	logged string
	losses int
}

func (a *auditShipping) sleep(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-a.Clock.After(wait):
	}
}

// shipper returns the shipper of the slot's log.
func (a *auditShipping) shipper() *auditlog.Shipper {
	to := a.bundle.Audit
	return &auditlog.Shipper{
		Folder: a.files.path(to.Folder), Name: to.File,
		Prefix: fmt.Sprintf("%s%s/slot%d/", to.Prefix, a.bundle.Cluster, a.bundle.Etcd.Slot),
		Labels: map[string]string{"instance": a.machine.InstanceID},
		Load: func() ([]byte, error) {
			text, err := a.files.read(auditFile)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			return text, err
		},
		Save: func(text []byte) error {
			_, err := a.files.write(auditFile, text, 0o600)
			return err
		},
		Put: a.put,
		Now: a.Clock.Now,
	}
}

// put adds an object to the bucket. S3 never replaces one, whatever the slot believes:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (a *auditShipping) put(ctx context.Context, object auditlog.Object) error {
	ctx, cancel := context.WithTimeout(ctx, auditTimeout)
	defer cancel()
	bucket := a.bundle.Audit.Bucket
	_, err := a.AWS.Objects.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &bucket, Key: &object.Key, Body: bytes.NewReader(object.Content), ContentType: &object.ContentType,
		Metadata: object.Metadata, IfNoneMatch: aws.String("*"),
	})
	if err == nil {
		return nil
	}
	failure, ok := errors.AsType[smithy.APIError](err)
	if ok && failure.ErrorCode() == "PreconditionFailed" {
		return auditlog.ErrExists
	}
	err = fmt.Errorf("add %s to the bucket %s: %w", object.Key, bucket, err)
	if !ok {
		return err
	}
	switch failure.ErrorCode() {
	case "AccessDenied":
		return fmt.Errorf("%w; the control plane's role needs s3:PutObject for %s*, and kms:GenerateDataKey for the bucket's key: apply the "+
			"cluster's definition, and check spec.api.audit.ship and the policies of the bucket, its key and the organization",
			err, a.bundle.Audit.Prefix)
	case "PermanentRedirect":
		return fmt.Errorf("%w; the bucket has to be in the region %s", err, a.Region)
	case "NoSuchBucket":
		return fmt.Errorf("%w; create the bucket, or correct spec.api.audit.ship.bucket", err)
	}
	return err
}

// nodeCondition is a condition of a Node.
type nodeCondition struct{ Status, Reason, Message string }

// Reasons of the condition.
const (
	auditShipped    = "Shipped"
	auditNotShipped = "ShippingFailed"
	auditLost       = "LinesLost"
)

// note logs what happened, and reports it in a condition of the slot's Node, unless that says so
// already.
func (a *auditShipping) note(ctx context.Context, report *auditlog.Report, err error) {
	a.log(report, err)
	now := a.Clock.Now()
	is := a.condition(report, err)
	if is.Status == a.last.Status && is.Reason == a.last.Reason && now.Sub(a.lastTime) < auditHeartbeat {
		return
	}
	if err := a.writeCondition(ctx, is, now); err != nil {
		// The API may not be up yet; what counts is in the log.
		a.Log.Debug("audit log", "error", fmt.Errorf("set the condition of the Node: %w", err))
		return
	}
	a.last, a.lastTime = is, now
}

// log logs what was shipped, what was lost, and each error once.
func (a *auditShipping) log(report *auditlog.Report, err error) {
	if report.Restarted && report.Objects > 0 {
		a.Log.Info("audit log", "did", "there is no record of what was shipped: all of the log on this disk was shipped")
	}
	if report.Objects > 0 {
		a.Log.Info("audit log", "did", fmt.Sprintf("added %d objects with %d bytes of it", report.Objects, report.Bytes))
	}
	for ; a.losses < len(report.Losses); a.losses++ {
		loss := report.Losses[a.losses]
		a.Log.Error("audit log", "error", "lines are lost: "+loss.String())
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != a.logged {
		a.Log.Warn("audit log", "error", err, "behind", report.Behind)
	}
	a.logged = text
}

// condition returns the condition of the slot's Node.
func (a *auditShipping) condition(report *auditlog.Report, err error) nodeCondition {
	var recent []auditlog.Loss
	for _, loss := range report.Losses {
		if a.Clock.Since(loss.Time) < lossShown {
			recent = append(recent, loss)
		}
	}
	switch {
	case err != nil:
		return nodeCondition{"False", auditNotShipped, fmt.Sprintf(
			"The audit log is not shipped, and %d bytes wait: %v.", report.Behind, err,
		)}
	case len(recent) > 0:
		return nodeCondition{"False", auditLost, fmt.Sprintf(
			"Lines of the audit log were lost: %s. See journalctl -u nodeup-audit.", recent[len(recent)-1].String(),
		)}
	default:
		return nodeCondition{"True", auditShipped, "The audit log is shipped to the bucket " + a.bundle.Audit.Bucket + "."}
	}
}

// writeCondition writes the condition. The kubelet keeps those of others:
// https://kubernetes.io/docs/reference/node/node-status/#condition
func (a *auditShipping) writeCondition(ctx context.Context, is nodeCondition, now time.Time) error {
	condition := map[string]any{
		"type": bundle.AuditCondition, "status": is.Status, "reason": is.Reason, "message": is.Message,
		"lastHeartbeatTime": now.UTC().Format(time.RFC3339),
	}
	if is.Status != a.last.Status {
		condition["lastTransitionTime"] = condition["lastHeartbeatTime"]
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{condition}}})
	if err != nil {
		return err //nolint:wrapcheck // It is strings.
	}
	_, err = a.askAsAdmin(ctx, http.MethodPatch, "/api/v1/nodes/"+a.machine.NodeName+"/status", patch)
	return err
}
