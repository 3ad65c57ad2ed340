// Ebscsi calls a CSI driver: it sends a request, in JSON, to a method of the Controller service that listens on a
// socket, and prints the response. Its module pins the version of the EBS CSI driver that the releases' chart runs;
// package test/roles builds both programs.
//
//	ebscsi SOCKET METHOD REQUEST
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// timeout is longer than external-provisioner's, since a call waits until EC2 has done it.
const timeout = 2 * time.Minute

// methods are a request and a response of each method.
var methods = map[string][2]proto.Message{
	"CreateVolume":              {&csi.CreateVolumeRequest{}, &csi.CreateVolumeResponse{}},
	"DeleteVolume":              {&csi.DeleteVolumeRequest{}, &csi.DeleteVolumeResponse{}},
	"ControllerPublishVolume":   {&csi.ControllerPublishVolumeRequest{}, &csi.ControllerPublishVolumeResponse{}},
	"ControllerUnpublishVolume": {&csi.ControllerUnpublishVolumeRequest{}, &csi.ControllerUnpublishVolumeResponse{}},
	"ControllerExpandVolume":    {&csi.ControllerExpandVolumeRequest{}, &csi.ControllerExpandVolumeResponse{}},
	"CreateSnapshot":            {&csi.CreateSnapshotRequest{}, &csi.CreateSnapshotResponse{}},
	"DeleteSnapshot":            {&csi.DeleteSnapshotRequest{}, &csi.DeleteSnapshotResponse{}},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 4 {
		return fmt.Errorf("usage: ebscsi SOCKET METHOD REQUEST")
	}
	socket, method := os.Args[1], os.Args[2]
	types, ok := methods[method]
	if !ok {
		return fmt.Errorf("there is no method %s", method)
	}
	if err := protojson.Unmarshal([]byte(os.Args[3]), types[0]); err != nil {
		return err
	}
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := connection.Invoke(ctx, "/csi.v1.Controller/"+method, types[0], types[1], grpc.WaitForReady(true)); err != nil {
		return err
	}
	text, err := protojson.Marshal(types[1])
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(text))
	return err
}
