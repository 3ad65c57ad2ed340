package image

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

const (
	// consoleLimit is how long the console of a stopped instance may take to appear: EC2 posts it
	// "shortly after" the change of state.
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html
	consoleLimit = 5 * time.Minute
	// cleanUpLimit bounds calls that an interruption does not end: the launch of the instance and its
	// termination.
	cleanUpLimit = 30 * time.Second
	// quotedLines is how many lines of a console an error quotes.
	quotedLines = 15
)

// builder creates one image.
type builder struct {
	*account
	*createOptions

	want *wanted
	say  func(format string, args ...any)
}

// existing returns the image that holds what is wanted, nil if there is none. Images that failed are
// deleted.
func (b *builder) existing(ctx context.Context) (*types.Image, error) {
	found, err := b.images(ctx, types.Filter{Name: aws.String("tag:" + tagImage), Values: []string{b.want.Hash}})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		if err := b.checkName(ctx); err != nil {
			return nil, err
		}
	}
	for i := range found {
		switch found[i].State {
		case types.ImageStateAvailable, types.ImageStatePending:
			return &found[i], nil
		case types.ImageStateFailed, types.ImageStateError, types.ImageStateInvalid:
			if b.dryRun {
				continue
			}
			if _, err := b.deregister(ctx, *found[i].ImageId); err != nil {
				return nil, err
			}
			b.say("Deleted image %s, which had failed.\n", *found[i].ImageId)
		case types.ImageStateDeregistered, types.ImageStateTransient, types.ImageStateDisabled:
		}
	}
	return nil, nil
}

// build returns the ID of the image, which is available.
func (b *builder) build(ctx context.Context, existing *types.Image) (string, error) {
	if existing != nil {
		b.say("Image %s holds this already.\n", *existing.ImageId)
		err := b.awaitImage(ctx, *existing.ImageId)
		return *existing.ImageId, interrupted(err, "Interrupted. Run the command again to continue.")
	}
	if err := b.removeLeftovers(ctx); err != nil {
		return "", err
	}
	instance, err := b.launch(ctx)
	if err != nil {
		return "", interrupted(err, "Interrupted. Nothing was launched. Run the command again to continue.")
	}
	id, err := b.imageOf(ctx, instance)
	// Also after an interruption, because an instance costs money.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
	defer cancel()
	if problem := b.terminate(limited, instance); problem != nil {
		return "", errors.Join(err, problem)
	}
	return id, interrupted(err, fmt.Sprintf("Interrupted. Instance %s is terminated. Run the command again to continue.", instance))
}

// checkName returns an error if another image of the account has the name.
func (b *builder) checkName(ctx context.Context) error {
	out, err := b.api.DescribeImages(ctx, &ec2.DescribeImagesInput{
		Owners: []string{"self"}, Filters: []types.Filter{{Name: aws.String("name"), Values: []string{b.want.name}}},
	})
	if err != nil {
		return fmt.Errorf("find images: %w", awsapi.Known(err))
	}
	if len(out.Images) > 0 && tagOf(out.Images[0].Tags, tagImage) != b.want.Hash {
		return fmt.Errorf("image %s has the name %s: give another one with --name", *out.Images[0].ImageId, b.want.name)
	}
	return nil
}

// tokenPrefix begins the client tokens of instances. Unlike a tag, a client token cannot be changed
// after the launch.
const tokenPrefix = "aws-operator-image-"

// removeLeftovers terminates what an interrupted command left.
func (b *builder) removeLeftovers(ctx context.Context) error {
	found, err := b.instances(ctx, types.Filter{Name: aws.String("tag:" + tagImage), Values: []string{b.want.Hash}})
	if err != nil {
		return err
	}
	for i := range found {
		if !strings.HasPrefix(aws.ToString(found[i].ClientToken), tokenPrefix) || found[i].IamInstanceProfile != nil {
			continue
		}
		b.say("An interrupted command left instance %s.\n", *found[i].InstanceId)
		if err := b.terminate(ctx, *found[i].InstanceId); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) terminate(ctx context.Context, instance string) error {
	err := b.until(ctx, cleanUpLimit, "EC2 still knows no instance "+instance, func() (bool, error) {
		_, err := b.api.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{instance}})
		if awsapi.Code(err) == noInstance {
			return false, nil
		}
		return true, awsapi.Known(err)
	})
	if err != nil {
		return fmt.Errorf("terminate instance %s, which costs money until then: %w", instance, err)
	}
	b.say("Terminated instance %s.\n", instance)
	return nil
}

// maxTag is the longest value of a tag: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html
const maxTag = 256

// tags returns the tags of what the command creates.
func (b *builder) tags(kinds ...types.ResourceType) []types.TagSpecification {
	tags := []types.Tag{
		{Key: aws.String("Name"), Value: &b.want.name},
		{Key: aws.String(tagImage), Value: &b.want.Hash},
		{Key: aws.String(tagRelease), Value: &b.want.release.Name},
		{Key: aws.String(tagArchitecture), Value: aws.String(string(b.want.architecture))},
		{Key: aws.String(tagContains), Value: aws.String(b.want.contains[:min(len(b.want.contains), maxTag)])},
	}
	all := make([]types.TagSpecification, len(kinds))
	for i, kind := range kinds {
		all[i] = types.TagSpecification{ResourceType: kind, Tags: tags}
	}
	return all
}

// launch launches the instance, which needs its metadata only to read its user data.
func (b *builder) launch(ctx context.Context) (string, error) {
	in := &ec2.RunInstancesInput{
		ImageId: &b.want.base, InstanceType: types.InstanceType(b.typeOfBuilder()), SubnetId: &b.subnet,
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ClientToken: aws.String(tokenPrefix + rand.Text()),
		UserData:                          aws.String(base64.StdEncoding.EncodeToString([]byte(b.want.UserData))),
		InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorStop,
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(1),
		},
		TagSpecifications: b.tags(types.ResourceTypeInstance, types.ResourceTypeVolume),
	}
	if b.securityGroup != "" {
		in.SecurityGroupIds = []string{b.securityGroup}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	// An interruption must not keep the command from learning the ID of what it launched.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
	defer cancel()
	out, err := b.api.RunInstances(limited, in)
	if err != nil {
		return "", fmt.Errorf("launch an instance: %w", awsapi.Known(err))
	}
	id := *out.Instances[0].InstanceId
	b.say("Launched instance %s (%s) in subnet %s. It prepares itself, which takes minutes.\n", id, b.typeOfBuilder(), b.subnet)
	return id, nil
}

// imageOf creates the image of an instance, once it has prepared itself.
func (b *builder) imageOf(ctx context.Context, instance string) (string, error) {
	if err := b.awaitStopped(ctx, instance); err != nil {
		return "", err
	}
	if err := b.awaitPrepared(ctx, instance); err != nil {
		return "", err
	}
	b.say("Instance %s has prepared itself. Creating image %s.\n", instance, b.want.name)
	id, err := b.create(ctx, instance)
	if err != nil {
		return "", err
	}
	return id, b.awaitImage(ctx, id)
}

// create creates the image of an instance. If its name is taken, the image may be one that EC2 did not
// list yet when the command began.
func (b *builder) create(ctx context.Context, instance string) (id string, err error) {
	err = b.until(ctx, cleanUpLimit, "another image has the name "+b.want.name+": give another one with --name", func() (bool, error) {
		out, err := b.api.CreateImage(ctx, &ec2.CreateImageInput{
			InstanceId: &instance, Name: &b.want.name, Description: aws.String(description(b.want.Hash)),
			TagSpecifications: b.tags(types.ResourceTypeImage, types.ResourceTypeSnapshot),
		})
		switch {
		case err == nil:
			id = *out.ImageId
			return true, nil
		case awsapi.Code(err) != "InvalidAMIName.Duplicate":
			return false, fmt.Errorf("create an image of instance %s: %w", instance, awsapi.Known(err))
		}
		existing, err := b.existing(ctx)
		if existing != nil {
			id = *existing.ImageId
		}
		return existing != nil, err
	})
	return id, err
}

// until observes until a condition holds or the time is over.
func (b *builder) until(ctx context.Context, limit time.Duration, what string, holds func() (bool, error)) error {
	for began := b.clock.Now(); ; {
		done, err := holds()
		if err != nil || done {
			return err
		}
		if b.clock.Since(began) >= limit {
			return fmt.Errorf("after %s, %s", limit, what)
		}
		timer := b.clock.NewTimer(b.interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C():
		}
	}
}

// noInstance is the code of EC2 for an instance that does not exist, or is too new to be known.
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
const noInstance = "InvalidInstanceID.NotFound"

// awaitStopped waits until the instance has powered itself off.
func (b *builder) awaitStopped(ctx context.Context, instance string) error {
	err := b.until(ctx, b.timeout, "instance "+instance+" has not powered itself off", func() (bool, error) {
		out, err := b.api.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{instance}})
		if awsapi.Code(err) == noInstance {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("observe instance %s: %w", instance, awsapi.Known(err))
		}
		i := &out.Reservations[0].Instances[0]
		switch i.State.Name {
		case types.InstanceStateNameStopped:
			return true, nil
		case types.InstanceStateNameShuttingDown, types.InstanceStateNameTerminated:
			reason := aws.ToString(i.StateTransitionReason)
			if i.StateReason != nil {
				reason = aws.ToString(i.StateReason.Message)
			}
			return false, fmt.Errorf("instance %s was terminated: %s", instance, printable(reason))
		case types.InstanceStateNamePending, types.InstanceStateNameRunning, types.InstanceStateNameStopping:
		}
		return false, nil
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	if lines, problem := b.console(ctx, instance, true); problem == nil {
		return fmt.Errorf("%w%s", err, quoted(lines))
	}
	return err
}

// awaitPrepared waits until the console of a stopped instance says that it has prepared itself. It
// returns an error with the end of the console if it says otherwise.
func (b *builder) awaitPrepared(ctx context.Context, instance string) error {
	var lines []string
	err := b.until(ctx, consoleLimit, "the console of instance "+instance+" does not say that it has prepared itself", func() (bool, error) {
		var err error
		if lines, err = b.console(ctx, instance, false); err != nil {
			return false, err
		}
		for _, line := range lines {
			if strings.HasSuffix(line, b.want.Failed) {
				return false, fmt.Errorf("instance %s has not prepared itself", instance)
			}
			if strings.HasSuffix(line, b.want.Prepared) {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w%s", err, quoted(lines))
	}
	return err
}

// console returns the lines of an instance's console. EC2 has those of the last change of state, or, of
// a running instance on Nitro, the latest.
func (b *builder) console(ctx context.Context, instance string, latest bool) ([]string, error) {
	out, err := b.api.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: &instance, Latest: &latest})
	if awsapi.Code(err) == noInstance {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the console of instance %s: %w", instance, awsapi.Known(err))
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(out.Output))
	if err != nil {
		return nil, fmt.Errorf("decode the console of instance %s: %w", instance, err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = printable(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// quoted returns the last lines of a console for an error.
func quoted(lines []string) string {
	if len(lines) == 0 {
		return ". Its console is empty"
	}
	return ". Its console ends with:\n  " + strings.Join(lines[max(0, len(lines)-quotedLines):], "\n  ")
}

// awaitImage waits until an image is available.
func (b *builder) awaitImage(ctx context.Context, id string) error {
	return b.until(ctx, b.timeout, "image "+id+" is still pending: run the command again to wait for it", func() (bool, error) {
		out, err := b.api.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{id}})
		if code := awsapi.Code(err); code == "InvalidAMIID.NotFound" {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("observe image %s: %w", id, awsapi.Known(err))
		}
		if len(out.Images) != 1 || out.Images[0].State == types.ImageStatePending {
			return false, nil
		}
		if state := out.Images[0].State; state != types.ImageStateAvailable {
			why := ""
			if r := out.Images[0].StateReason; r != nil {
				why = ": " + printable(aws.ToString(r.Message))
			}
			return false, fmt.Errorf("image %s is %s%s", id, state, why)
		}
		return true, nil
	})
}
