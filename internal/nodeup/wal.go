package nodeup

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// The type of the record with the metadata in etcd's write-ahead log, and the fields of its messages.
// https://github.com/etcd-io/etcd/blob/v3.6.8/server/storage/wal/walpb/record.proto
const (
	walMetadata                = 1
	walFieldType, walFieldData = 1, 3
	fieldNodeID, fieldCluster  = 1, 2
	maxWALRecord               = 1 << 16
)

// errWAL says that a file is not etcd's write-ahead log as nodeup knows it.
var errWAL = errors.New("not a write-ahead log of etcd")

// memberID returns the IDs of the member that wrote a write-ahead log and of its cluster, as etcd's JSON
// gateway writes them. Each file of the log begins with a checksum and the metadata of the member.
// https://github.com/etcd-io/etcd/blob/v3.6.8/server/storage/wal/wal.go
func memberID(folder string) (id, cluster string, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.wal"))
	if err != nil || len(names) == 0 {
		return "", "", fmt.Errorf("%s: %w", folder, errors.Join(err, errWAL))
	}
	file, err := os.Open(names[0])
	if err != nil {
		return "", "", fmt.Errorf("read etcd's write-ahead log: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.
	for reader := bufio.NewReader(file); ; {
		record, err := readRecord(reader)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", names[0], err)
		}
		fields, err := protoFields(record)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", names[0], err)
		}
		if fields[walFieldType].number != walMetadata {
			continue
		}
		metadata, err := protoFields(fields[walFieldData].bytes)
		if id, cluster := metadata[fieldNodeID].number, metadata[fieldCluster].number; err == nil && id != 0 && cluster != 0 {
			return strconv.FormatUint(id, 10), strconv.FormatUint(cluster, 10), nil
		}
		return "", "", fmt.Errorf("%s: %w", names[0], errors.Join(err, errWAL))
	}
}

// readRecord reads a record. Its length has the number of bytes of padding in its highest byte.
func readRecord(from io.Reader) ([]byte, error) {
	const lengthBits, paddingBits = 56, 7
	var head uint64
	if err := binary.Read(from, binary.LittleEndian, &head); err != nil {
		return nil, fmt.Errorf("read the length of a record: %w", err)
	}
	length, padding := head&(1<<lengthBits-1), uint64(0)
	if head>>63 == 1 {
		padding = head >> lengthBits & paddingBits
	}
	if length == 0 || length > maxWALRecord {
		return nil, errWAL
	}
	record := make([]byte, length+padding)
	if _, err := io.ReadFull(from, record); err != nil {
		return nil, fmt.Errorf("read a record: %w", err)
	}
	return record[:length], nil
}

// protoField is a field of a message: a number or bytes.
type protoField struct {
	number uint64
	bytes  []byte
}

// protoFields returns the fields of a message of Protocol Buffers that has only numbers and bytes.
func protoFields(message []byte) (map[protowire.Number]protoField, error) {
	found := map[protowire.Number]protoField{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, errWAL
		}
		message = message[n:]
		var one protoField
		switch kind {
		case protowire.VarintType:
			one.number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			one.bytes, n = protowire.ConsumeBytes(message)
		default:
			return nil, errWAL
		}
		if n < 0 {
			return nil, errWAL
		}
		found[number], message = one, message[n:]
	}
	return found, nil
}
